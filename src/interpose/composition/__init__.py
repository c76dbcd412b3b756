"""The one composition: engines and the service, at start and at every reload."""
