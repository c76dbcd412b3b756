"""Everything behind a surface: one engine for each place, one ledger, one queue of questions."""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = [
    "activity",
    "answering",
    "bypass_desk",
    "governance_notices",
    "hand_overs",
    "loosening",
    "operation_answers",
    "overview",
    "pause_records",
    "people_answers",
    "pin_records",
    "project_engines",
    "question_events",
    "question_views",
    "rule_activity",
    "seen_sessions",
    "service",
    "session_desk",
    "session_rules",
    "session_timeline",
]
