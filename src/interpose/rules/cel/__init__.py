"""The CEL language: expressions are checked by Google's library, compiled to Python, and evaluated without it.

It knows nothing of rules: whoever uses it says which variables there are, and what they hold.
"""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = ["ast", "checker", "expression", "read_checks", "runtime_values", "text_functions", "variable_shapes"]
