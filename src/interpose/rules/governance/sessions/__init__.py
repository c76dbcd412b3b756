"""Sessions as they are kept: their states, halts and what is told of them."""
