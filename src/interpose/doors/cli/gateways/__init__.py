"""Setting up the gateway and the proxy."""
