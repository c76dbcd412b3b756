"""Processes as the kernel knows them: nothing here can be changed by the process itself, but its command line and its
environment."""

from __future__ import annotations

import sys

if sys.platform == "darwin":
    from interpose.core.platforms.macos import process_table as table
else:
    from interpose.core.platforms.linux import process_table as table

process = table.process
real_user = table.real_user
owner_of = table.owner_of
start_of = table.start_of
started_ns = table.started_ns
ticks_now = table.ticks_now
this_boot = table.this_boot
this_machine = table.this_machine
all_pids = table.all_pids
program_of = table.program_of
command_line = table.command_line
environment = table.environment
code_files = table.code_files
input_of = table.input_of
terminal_number = table.terminal_number
holds_terminal = table.holds_terminal
where_shown = table.where_shown
