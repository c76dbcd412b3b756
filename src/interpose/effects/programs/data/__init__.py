"""Clients of databases and stores, and migration tools."""
