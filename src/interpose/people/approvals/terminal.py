"""Asking at the terminal. The default answer is no, everywhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

from interpose.core.formats.plain_text import plain, without_blank_runs
from interpose.core.types import PermissionRequest
from interpose.people.approvals.batch import BatchAnswer, summary


class InteractiveConfirmation:
    """Asks on a terminal. Anything but a clear yes, the end of input included, is a no."""

    def __init__(self, *, verbose: bool = False, input: TextIO | None = None, output: TextIO | None = None) -> None:
        self._verbose, self._input, self._output = verbose, input, output

    def confirm(self, request: PermissionRequest, /) -> bool:
        """Show the call that would really run, and ask."""
        self._show(request)
        return self._ask("  Allow? [y/N] ") in ("y", "yes")

    def confirm_batch(self, requests: Sequence[PermissionRequest], calls: Sequence[str], /) -> BatchAnswer:
        """One question for a whole batch, with every call that it is about."""
        self._say(plain(summary(calls, len(requests))))
        for request in requests:
            self._show(request)
        answer = self._ask("  [a]pprove all, [r]eview one by one, [D]eny all? ")
        if answer in ("a", "approve"):
            return BatchAnswer.APPROVE
        return BatchAnswer.REVIEW if answer in ("r", "review") else BatchAnswer.DENY

    def _show(self, request: PermissionRequest) -> None:
        import json

        self._say(
            "? " + plain(without_blank_runs(request.message)).replace("\n", "\n? ")
        )  # the agent's text can't pose as our prompt
        if request.tool:
            arguments = json.dumps(request.arguments, indent=2 if self._verbose else None, default=repr)
            self._say(f"  {plain(request.tool)} {plain(arguments)}")

    def _say(self, text: str) -> None:
        print(text, file=self._output or sys.stderr)

    def _ask(self, prompt: str) -> str:
        output = self._output or sys.stderr
        output.write(prompt)
        output.flush()
        return (self._input or sys.stdin).readline().strip().lower()
