"""An HTTP/1.1 server. It knows nothing of Interpose: routes are handed to it."""
