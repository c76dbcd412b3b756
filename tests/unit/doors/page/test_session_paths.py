"""Every session has an address, whatever its agent called it, and every address is one of ours."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.doors.http_server.routing import decoded
from interpose.doors.page.html import tag
from interpose.doors.page.pieces import call_path, id_at, session_path

ANY = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(ANY)
def test_an_address_leads_back_to_its_session(session: str) -> None:
    path = session_path(session)
    tag("a", session, href=path)  # raises for what is no address of the page
    segment = path.removeprefix("/sessions/")
    assert "/" not in segment
    assert id_at(decoded(segment)) == session


@pytest.mark.parametrize("name", ["~", "~~", "~bHM=", "~not base64", "~\u00e9", "~" + "x" * 1001])
def test_a_name_that_only_looks_spelled_is_itself(name: str) -> None:
    assert id_at(name) == name
    assert id_at(unquote(session_path(name).removeprefix("/sessions/"))) == name


def test_a_browser_takes_no_id_for_a_way_up_and_none_for_another() -> None:
    """An agent whose session is called so would otherwise be out of reach: who halts it would halt another one."""
    for id in (".", "..", "~Cg==", "~Zm9vCg==", "~Li4=", "\n", "foo\n"):
        for path in (session_path(id), call_path(id)):
            segment = path.rpartition("/")[2]
            assert segment.replace("%2E", ".").replace("%2e", ".") not in (".", "..")
            assert id_at(decoded(segment)) == id
