"""What a running server tells those who operate it: its log, its traces, its numbers."""
