"""Configuration: the model, where it is looked for, and how it is put together."""
