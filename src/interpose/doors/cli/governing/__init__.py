"""Roles and sessions, at a terminal."""
