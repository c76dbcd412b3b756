"""Interpose: the layer between AI agents and their tools."""
