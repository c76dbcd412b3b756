"""Command lines of clouds, clusters and containers, and infrastructure as code."""
