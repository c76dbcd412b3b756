"""Commands that talk to other machines: fetching, sending, logging in."""
