"""What is kept: the store, the ledger and the pins."""
