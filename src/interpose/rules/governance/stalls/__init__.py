"""Whether an agent gets nowhere."""
