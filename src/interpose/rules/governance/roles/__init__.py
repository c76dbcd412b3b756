"""Who acts, and what a role may use, write and hand on."""
