"""What handlers of several families use: reading options, peeling wrappers, streams, tables of verbs."""
