"""Agents' hooks: what each host says is read into one kind of event, what we say is written in the host's own words."""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = [
    "all_hosts",
    "event_answer",
    "events",
    "hook_places",
    "hook_waits",
    "host_sessions",
    "reply_texts",
    "result_shapes",
]
