"""Built-in interceptors, one file each."""
