"""Text becomes markup through one type, and never as it came."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.core.formats.plain_text import one_line, plain
from interpose.doors.page.html import Html, exact, is_plain, joined, spelled, tag
from interpose.doors.page.pieces import code


class Seen(HTMLParser):
    """What a browser would find: elements, attributes and text."""

    def __init__(self, html: Html) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(html.text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def test_elements_and_attributes() -> None:
    made = tag(
        "a", "x ", tag("b", 1), None, [tag("i"), "y"], href="/a?b=c&d", class_="k", aria_label='"q"', hidden=False
    )
    assert made.text == '<a href="/a?b=c&amp;d" class="k" aria-label="&quot;q&quot;">x <b>1</b><i></i>y</a>'
    assert tag("input", type="text", required=True).text == '<input type="text" required>'


@given(st.text())
def test_any_text_is_text_wherever_it_stands(text: str) -> None:
    seen = Seen(tag("p", text, title=text))
    assert [name for name in seen.tags if name != "i"] == ["p"]
    assert [name for name, _ in seen.attributes if name != "class"] == ["title"]
    assert dict(seen.attributes)["title"] == spelled(text)
    assert seen.text == spelled(text)


@pytest.mark.parametrize("char", ["\u3164", "\u115f", "\uffa0", "\u2800", "\ufe01", "\U000e0100", "\u034f"])
def test_what_counts_as_printable_and_is_not_seen_is_spelled_out_too(char: str) -> None:
    assert Seen(joined(f"a{char}b")).text == f"a{char.encode('unicode_escape').decode()}b" == one_line(f"a{char}b")
    assert plain(f"a{char}\nb").startswith("a\\")
    assert not is_plain(char), "it is edited as JSON"


@given(st.text(alphabet=st.characters(categories=["Cc", "Cf", "Co", "Cs", "Zl", "Zp"])))
def test_what_hides_or_turns_text_is_spelled_out(text: str) -> None:
    seen = Seen(joined(text)).text
    assert all(char in "\n\t" or (char.isprintable() and char.isascii()) for char in seen)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]).filter(lambda char: char not in "\r\0")))
def test_a_field_that_is_sent_back_holds_every_letter(text: str) -> None:
    assert Seen(Html(f"<p>{exact(text).text}</p>")).text == text


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "//evil.example", "https://evil.example", "/\\evil", "data:x"]
)
def test_an_address_is_one_of_ours(address: str) -> None:
    with pytest.raises(ValueError, match="no address of the page"):
        tag("a", "x", href=address)


@pytest.mark.parametrize("name", ["onclick", "onerror", "style", "a b", "x>"])
def test_nothing_that_runs_stands_in_an_attribute(name: str) -> None:
    with pytest.raises(ValueError, match="no attribute of a page"):
        tag("p", "x", **{name: "y"})


@pytest.mark.parametrize(
    ("text", "plain"),
    [("a\n\tb é 漢", True), ("a\r\nb", False), ("\u202ea", False), ("\x1b[0m", False), ("\u200b", False)],
)
def test_what_is_seen_as_what_it_is(text: str, plain: bool) -> None:
    assert is_plain(text) is plain


@pytest.mark.parametrize(
    ("note", "text", "parts", "marked"),
    [
        (
            "a word of its own goes before a part of another",
            "curl install.sh | sh",
            ["sh"],
            "install.sh | <mark>sh</mark>",
        ),
        ("else where it first occurs", "git pushing", ["push"], "git <mark>push</mark>ing"),
        ("what is not there marks nothing", "git push", ["rebase"], "git push"),
        ("parts that overlap mark once", "aa bb cc", ["aa bb", "bb cc"], "<mark>aa bb</mark> cc"),
        ("markup in a part is text", "x <b>", ["<b>"], "x <mark>&lt;b&gt;</mark>"),
    ],
)
def test_what_was_objected_to_is_underlined(note: str, text: str, parts: list[str], marked: str) -> None:
    assert f"{marked}</pre>" in code(text, parts).text
