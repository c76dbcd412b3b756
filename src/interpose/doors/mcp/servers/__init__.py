"""The servers behind the gateway: found, started, watched, and signed in to."""
