"""Texts in fixed forms: strict JSON, YAML with line numbers, patches, text that is safe to show."""
