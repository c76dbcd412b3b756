"""Texts in fixed forms: strict JSON, YAML with line numbers, patches, text that is safe to show."""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = ["nested_values", "patches", "plain_text", "strict_json", "yaml_text"]
