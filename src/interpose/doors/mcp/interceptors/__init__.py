"""Our pipeline for clients that speak the interceptor protocol."""
