"""The server process: the API and the hooks' listener over one service, its signals and its alarms."""
