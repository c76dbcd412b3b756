"""The words that all floors share: types, tools, matching, the registry and the pipeline."""
