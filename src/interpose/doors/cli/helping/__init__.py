"""Help, completion and the manual page, from the table of verbs."""
