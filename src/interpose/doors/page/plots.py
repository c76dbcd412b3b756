"""Figures that are drawn: large plots by the browser's script, small ones right here. Both have numbers, too."""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec import Struct

from interpose.doors.page.html import Html, tag

SCRIPTS = ("uplot.js", "plots.js")
STYLES = ("uplot.css", "figures.css")

VERDICTS = ("allow", "rewrite", "ask", "deny")
_WIDTH, _HEIGHT = 4, 24


class Series(Struct, frozen=True):
    """One line of a plot. Its `colour` is a name that the style sheet knows."""

    name: str
    colour: str
    values: Sequence[float | None]


def plot(
    name: str,
    caption: str,
    times: Sequence[int],
    series: Sequence[Series],
    *,
    unit: str = "",
    kind: str = "bars",
    note: str = "",
) -> Html:
    """A plot over time, in seconds since 1970. Without script its numbers are a table."""
    given = {
        "x": list(times), "unit": unit, "kind": kind,
        "series": [{"name": one.name, "colour": one.colour, "values": list(one.values)} for one in series],
    }  # fmt: skip
    heads = tag("tr", tag("th", "from", scope="col"), [tag("th", one.name, scope="col") for one in series])
    rows = [
        tag("tr", tag("th", _when(at), scope="row"), [tag("td", _said(one.values[place])) for one in series])
        for place, at in enumerate(times)
        if any(one.values[place] for one in series)
    ]
    if not rows:
        return tag("figure", tag("figcaption", tag("b", caption), " nothing in this time", class_="quiet"),
                   class_="figure", id=f"figure-{name}")  # fmt: skip
    return tag(
        "figure",
        tag("figcaption", tag("b", caption), f" ({unit})" if unit else "", tag("small", " ", note) if note else None),
        tag("div", id=f"plot-{name}", class_="plot", data_plot=json.dumps(given, ensure_ascii=True), role="img",
            aria_label=f"{caption}: a plot; its numbers follow as a table"),
        tag("details", tag("summary", "As numbers"), tag("table", tag("thead", heads), tag("tbody", rows))),
        class_="figure", id=f"figure-{name}",
    )  # fmt: skip


def bars(counts: Sequence[tuple[str, Sequence[int]]], what: str) -> Html:
    """A small row of bars, a bar for each day, its parts in the colours of verdicts."""
    days = len(counts[0][1]) if counts else 0
    highest = max((sum(values[day] for _, values in counts) for day in range(days)), default=0)
    if not highest:
        return tag("span", "–", class_="quiet")
    parts: list[Html] = []
    for day in range(days):
        base = 0.0
        for word, values in counts:
            height = values[day] / highest * _HEIGHT
            if height:
                base += height
                parts.append(
                    tag("rect", x=day * (_WIDTH + 1), y=round(_HEIGHT - base, 2), width=_WIDTH,
                        height=round(max(height, 1.0), 2), class_=word if word.isalpha() else "")
                )  # fmt: skip
    size = max(1, days * (_WIDTH + 1) - 1)
    return tag("svg", tag("title", what), parts, viewBox=f"0 0 {size} {_HEIGHT}", width=size * 2, height=_HEIGHT,
               class_="bars", role="img", preserveAspectRatio="none")  # fmt: skip


def _when(at: int) -> Html:
    from datetime import UTC, datetime

    return tag("time", f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC",
               datetime=f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}")  # fmt: skip


def _said(value: float | None) -> str:
    return "" if value is None else f"{value:,}"
