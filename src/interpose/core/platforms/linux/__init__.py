"""Linux: `/proc`, pidfd and netlink."""
