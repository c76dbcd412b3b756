"""What a call would do, read once for all that ask: guards, policies, ledger."""
