"""AI rules: a judge that reads what rules can't say."""
