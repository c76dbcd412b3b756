"""Resolving and judging paths: what a path means, and where it leads.

`resolve` looks at the text alone. A `Lookup` gives every spelling that a path stands for: `Lexical` from its text,
`FileSystem` by walking the links of this machine. Look up first, then ask. `secret_of`, `persistence_of` and
`tamper_of` return a `Mark` (its `reason` is plain words, its `strength` is `key`, `soft` or `faint`) or None.

What is ours is one table: `ours_of` for files, `order_of` for requests to our server. `hold` adds the real places of
this process to the usual ones.
"""

from interpose.effects.paths.agent_directories import agent_directory_of, filled_directory_of
from interpose.effects.paths.catalogue import Mark, Strength, is_wild
from interpose.effects.paths.homes_in_programs import reads_whole_home
from interpose.effects.paths.lookup import FileSystem, Lexical, Lookup, Spellings, Trouble
from interpose.effects.paths.our_server import Order, order_in, order_of, reaches_us
from interpose.effects.paths.ours import (
    Holdings,
    could_be_ours,
    could_find_ours,
    could_list_ours,
    could_plant_ours,
    environment_places,
    found_in_environment,
    held,
    hold,
    holds_environment,
    holds_ours,
    installs_into_ours,
    is_above_ours,
    is_certain,
    is_one_name,
    is_running_program,
    mentions_ours,
    names_environment,
    ours_of,
    planted_in,
)
from interpose.effects.paths.persistence import persistence_of
from interpose.effects.paths.place import Place, could_be, device_of, place_of, project_of
from interpose.effects.paths.planted_code import fires
from interpose.effects.paths.protected import (
    TELLING_NAMES,
    could_find_settings,
    is_terminal,
    lists_settings,
    protected_place_of,
)
from interpose.effects.paths.resolve import UNKNOWN, resolve
from interpose.effects.paths.secret import is_credential, is_guarded, secret_of
from interpose.effects.paths.settings_in_programs import changes_settings
from interpose.effects.paths.tamper import tamper_of

__all__ = [
    "TELLING_NAMES",
    "UNKNOWN",
    "FileSystem",
    "Holdings",
    "Lexical",
    "Lookup",
    "Mark",
    "Order",
    "Place",
    "Spellings",
    "Strength",
    "Trouble",
    "agent_directory_of",
    "changes_settings",
    "could_be",
    "could_be_ours",
    "could_find_ours",
    "could_find_settings",
    "could_list_ours",
    "could_plant_ours",
    "device_of",
    "environment_places",
    "filled_directory_of",
    "fires",
    "found_in_environment",
    "held",
    "hold",
    "holds_environment",
    "holds_ours",
    "installs_into_ours",
    "is_above_ours",
    "is_certain",
    "is_credential",
    "is_guarded",
    "is_one_name",
    "is_running_program",
    "is_terminal",
    "is_wild",
    "lists_settings",
    "mentions_ours",
    "names_environment",
    "opening",
    "order_in",
    "order_of",
    "ours_of",
    "persistence_of",
    "place_of",
    "planted_in",
    "project_of",
    "protected_place_of",
    "reaches_us",
    "reads_whole_home",
    "resolve",
    "secret_of",
    "tamper_of",
]
