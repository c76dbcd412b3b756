"""How flows are driven: they yield steps, a driver performs them by blocking or by awaiting."""
