"""The machine: disks, processes, services, timers, accounts, and Windows' own programs."""
