"""The decision server: HTTP/1.1 on a loopback port and a Unix socket."""
