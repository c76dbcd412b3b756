"""Reading the ledger, at a terminal."""
