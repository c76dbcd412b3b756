"""The CEL language: expressions are checked by Google's library, compiled to Python, and evaluated without it.

It knows nothing of rules: whoever uses it says which variables there are, and what they hold.
"""
