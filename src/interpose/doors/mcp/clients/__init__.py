"""The clients in front of the gateway: over pipes and over HTTP."""
