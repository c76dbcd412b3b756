"""Policies: rule files that are checked and compiled when they are loaded, and decide as one interceptor."""
