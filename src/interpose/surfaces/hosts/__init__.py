"""Agents' hooks: what each host says is read into one kind of event, what we say is written in the host's own words."""
