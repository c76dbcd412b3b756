"""macOS: libproc, sysctl and kqueue. Built from the public headers; the layouts are in `layouts`."""
