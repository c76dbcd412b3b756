"""Options of commands, as getopt reads them."""

from __future__ import annotations

from interpose.effects.invocation import Word
from interpose.effects.programs.shared.options import parse


def test_a_joined_value_changes_nothing_about_the_options_after_it() -> None:
    found = parse([Word("--max-procs=1"), Word("-i{}"), Word("rm")], attached=("-i",), stop=True)
    assert [word.text for word in found.operands] == ["rm"]
    assert [(name, value and value.text) for name, value in found.given] == [("--max-procs", "1"), ("-i", "{}")]
