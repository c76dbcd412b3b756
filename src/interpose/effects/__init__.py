"""What a call would do: text in, effects out. Nothing above this floor is imported here."""
