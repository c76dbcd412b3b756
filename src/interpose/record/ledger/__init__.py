"""The ledger: what was decided and what came of it, kept so that it can be proved.

    engine -> recorder -> writer -> journal (before the answer leaves) -> store (in the background)

Entries are only ever added, in one hash chain for each writer. A record is the view of the entries of one call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpose.core.config.ledger import LedgerSettings, LogSettings
from interpose.core.late import late_names
from interpose.record.ledger.ledger import Ledger, LedgerStatus, make_directory

if TYPE_CHECKING:
    from interpose.record.ledger.anchor_places import AnchorPlace, places_of
    from interpose.record.ledger.call_proof import CallProof
    from interpose.record.ledger.checkpoints import Broken
    from interpose.record.ledger.formats import OLD_FORMATS, Format, shapes
    from interpose.record.ledger.record import Record, named, records, search, timings_of
    from interpose.record.ledger.recovering import RecoveryReport, recover_ledger
    from interpose.record.ledger.recovery import Recovery, recover_all
    from interpose.record.ledger.retention import retain
    from interpose.record.ledger.unapproved import ran_unapproved
    from interpose.record.ledger.verification import Verification, verify, verify_directory, verify_notes

# `canaries`, `entry`, `stats` and `times` are modules that other rooms may import.
__all__ = [
    "OLD_FORMATS", "AnchorPlace", "Broken", "CallProof", "Format", "Ledger", "LedgerSettings", "LedgerStatus",
    "LogSettings", "Record", "Recovery", "RecoveryReport", "Verification", "call_proof", "canaries", "entry", "keys",
    "make_directory", "named", "places_of", "ran_unapproved", "records", "recover_all", "recover_ledger", "retain",
    "search", "shapes", "stats", "times", "timings_of", "verify", "verify_directory", "verify_notes",
]  # fmt: skip

_HOMES = {
    "anchor_places": ("AnchorPlace", "places_of"),
    "call_proof": ("CallProof",),
    "checkpoints": ("Broken",),
    "formats": ("OLD_FORMATS", "Format", "shapes"),
    "record": ("Record", "named", "records", "search", "timings_of"),
    "recovering": ("RecoveryReport", "recover_ledger"),
    "recovery": ("Recovery", "recover_all"),
    "retention": ("retain",),
    "unapproved": ("ran_unapproved",),
    "verification": ("Verification", "verify", "verify_directory", "verify_notes"),
}
"""Who only records needs none of these."""

if not TYPE_CHECKING:  # or a misspelt name would have a type
    __getattr__ = late_names(__name__, _HOMES)
