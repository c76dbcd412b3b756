"""Texts in fixed forms: strict JSON, YAML with line numbers, patches, text that is safe to show, keys."""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = [
    "base64_parts",
    "counted",
    "log_file",
    "nested_values",
    "own_files",
    "plain_text",
    "signatures",
    "strict_json",
    "unseen_text",
    "unwritable",
    "value_sizes",
    "whole_files",
    "yaml_text",
]
