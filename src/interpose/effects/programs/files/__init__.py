"""Commands that make, find, copy, change, pack and remove files."""
