"""THE FLOW: one call from question to record, whoever runs it."""
