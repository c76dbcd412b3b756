"""The one flow of a call, and the engine that programs use."""
