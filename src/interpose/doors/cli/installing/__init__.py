"""What `install`, `uninstall` and `status` share."""
