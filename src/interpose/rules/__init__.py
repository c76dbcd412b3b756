"""What decides: guards, policies, governance, and interceptors of other programs."""
