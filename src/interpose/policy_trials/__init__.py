"""Trying rules out: case files and examples, lint, what each rule says about one call, and the page of variables.

For people who write rules. No decision about a call stands on this room.
"""
