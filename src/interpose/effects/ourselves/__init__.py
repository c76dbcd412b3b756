"""What Interpose itself offers, as tables: its verbs, and what people do with a running server."""
