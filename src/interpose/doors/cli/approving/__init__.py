"""Answering questions, at a terminal."""
