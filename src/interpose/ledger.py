"""The ledger, the log and their store in a program of yours. See `interpose help operations`."""

from interpose.record.ledger import LedgerSettings, LogSettings, retain
from interpose.record.store import open_store

__all__ = ["LedgerSettings", "LogSettings", "open_store", "retain"]
