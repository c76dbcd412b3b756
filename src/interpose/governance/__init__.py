"""Roles, sessions, first tools, delegation, scopes, chains, stalls and budgets: who may do what, when, and how much."""
