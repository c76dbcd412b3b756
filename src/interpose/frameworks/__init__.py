"""`guard` for agent frameworks: `from interpose.frameworks.langchain import guard`.

Each module is the public door to one framework, and imports that framework. Nothing of it is imported before.
"""

# No other room comes through here: these are doors for users.
__all__ = []
