"""What can be set about a ledger. Its form is the configuration's: whoever reads settings need not load a ledger."""

from __future__ import annotations

from interpose.core.config.ledger import LedgerSettings, Level, LogSettings

__all__ = ["LedgerSettings", "Level", "LogSettings"]
