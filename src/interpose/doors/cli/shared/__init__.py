"""What many verbs need: printing, closed values, the client of the server."""
