"""The pages behind a link to a question: HTML without scripts, for a phone or a desk.

INVARIANT: every text goes through `_shown` or `_lines`: what the agent chose is neither a mark of the page, nor steers
anything, nor turns the direction of what stands around it.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Sequence
from datetime import datetime
from html import escape
from typing import Any

from msgspec import Struct
from msgspec import json as fast

from interpose.composition.service.question_views import diff_of, own_words
from interpose.core.formats.plain_text import one_line, plain
from interpose.doors.http_server.messages import Headers, Response
from interpose.people.approvals.questions import Question
from interpose.people.approvals.votes import Missing, Vote

HTML = "text/html; charset=utf-8"
LONGEST_WORD = 1000
_MOST_EFFECTS = 50

_STYLE = """
:root{color-scheme:light dark}
body{font:1rem/1.45 system-ui,sans-serif;margin:0 auto;padding:1rem;max-width:44rem;overflow-wrap:anywhere}
h1{font-size:1.25rem}h2{font-size:1rem;margin:1.2rem 0 .3rem}
pre,code{font-family:ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
pre{border:1px solid #8888;border-radius:.4rem;padding:.6rem;margin:0;max-height:24rem;overflow:auto}
pre bdi,dd bdi{direction:ltr;unicode-bidi:isolate-override}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem .8rem;margin:0}dd{margin:0}dt{opacity:.75}
blockquote{margin:0;padding:.2rem .8rem;border-inline-start:.25rem solid #8888}
.said{border:2px solid #c60;border-radius:.4rem;padding:.6rem}
label{display:block;margin:.8rem 0 .2rem}
textarea,input{font:inherit;width:100%;box-sizing:border-box;padding:.5rem}
button{font:inherit;font-weight:600;width:100%;padding:.8rem;margin:1rem 0 0;border-radius:.4rem;border:1px solid #888}
"""
_STYLE_HASH = b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# `no-referrer` would make browsers hide the origin of our own form, too, and a form of nobody is refused.
_HEADERS: Headers = (
    ("Content-Type", HTML),
    ("Content-Security-Policy", _POLICY),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("X-Robots-Tag", "noindex, nofollow"),
)


class AnswerForm(Struct, frozen=True, kw_only=True):
    """What a person can say on a page. `field` is what only this page has; `instead` is why a yes can't be said here.

    `asks_for` is what a yes needs besides.
    """

    field: str
    instead: str = ""
    asks_for: str = ""
    only_deny: bool = False


def question_page(
    question: Question,
    form: AnswerForm,
    now: datetime,
    *,
    who: str,
    votes: Sequence[Vote] = (),
    missing: Sequence[Missing] = (),
    said: str = "",
    status: int = 200,
) -> Response:
    """A question, and what can be said to it. `said` is why the last try was no answer."""
    parts = [f"<h1>Question {_shown(question.id)}</h1>"]
    if said:
        parts.append(f'<p class="said" role="alert">{_shown(said)}</p>')
    parts += _facts(question, now, votes, missing)
    parts += _answers(form, who)
    return _page(f"Question {question.id}", parts, status)


def said_page(title: str, text: str, *, status: int, link: str = "") -> Response:
    """Something to read, and at most one link of ours."""
    more = f'<p><a href="{escape(link)}">Answer it here later</a></p>' if link else ""
    return _page(title, [f"<h1>{_shown(title)}</h1>", f"<p>{_shown(text)}</p>", more], status)


def _page(title: str, parts: Sequence[str], status: int) -> Response:
    body = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_shown(title)} - Interpose</title><style>{_STYLE}</style></head>"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )
    return Response(status, body.encode(), _HEADERS)


def _facts(
    question: Question, now: datetime, votes: Sequence[Vote], missing: Sequence[Missing]
) -> Iterator[str]:  # fmt: skip
    effects = [f"<li>{_shown(effect.text)}</li>" for effect in question.effects[:_MOST_EFFECTS]]
    yield f"<h2>What it would do</h2><ul>{''.join(effects) or '<li>It is not known what it would do.</li>'}</ul>"
    yield "<h2>Why you are asked</h2><ul>"
    for found in question.findings:
        yield f"<li>{_shown(found.reason)} <small>({_shown(found.rule or found.interceptor)})</small></li>"
    yield "</ul>"
    yield f"<h2>The call</h2><p>Tool {_shown(question.tool or question.point.value)}</p>"
    command = question.arguments.get("command") if isinstance(question.arguments, dict) else None
    if isinstance(command, str):
        yield f"<pre><bdi>{_lines(command)}</bdi></pre>"
        yield f"<details><summary>All arguments</summary>{_block(question.arguments)}</details>"
    else:
        yield _block(question.arguments)
    if diff := diff_of(question):
        yield f"<h2>What changes</h2><pre><bdi>{_lines(diff)}</bdi></pre>"
    if question.instead:
        yield f"<h2>Safer</h2><pre><bdi>{_lines(question.instead)}</bdi></pre>"
    if words := own_words(question):
        yield f"<h2>What the agent says of it, in its own words</h2><blockquote><bdi>{_lines(words)}</bdi></blockquote>"
    yield "<h2>Who asks</h2><dl>"
    named = {
        "Agent": question.agent, "Session": question.session, "For": question.principal, "Source": question.source,
        "Directory": question.cwd, "Open until": f"{question.expires:%Y-%m-%d %H:%M:%S} UTC ({_left(question, now)})",
        "Agreed": ", ".join(vote.by for vote in votes),
        "Must agree": ", ".join(f"{one.count} more of the role {one.role}" for one in missing),
    }  # fmt: skip
    yield from (f"<dt>{name}</dt><dd>{_shown(text)}</dd>" for name, text in named.items() if text)
    yield "</dl>"


def _answers(form: AnswerForm, who: str) -> Iterator[str]:
    yield '<h2>Your answer</h2><form method="post" autocomplete="off">'
    yield f'<input type="hidden" name="form" value="{escape(form.field)}">'
    yield f"<p>You answer as {_shown(who)}, for this one call. This link counts once.</p>"
    yield (
        '<label for="word">A word to the agent (optional)</label>'
        f'<textarea id="word" name="word" rows="2" maxlength="{LONGEST_WORD}"></textarea>'
    )
    if form.only_deny:
        yield "<p>This link can only deny.</p>"
    elif form.instead:
        yield f'<p class="said">{_shown(form.instead)}</p>'
    else:
        match form.asks_for:
            case "passphrase":
                yield (
                    '<label for="passphrase">The operator\'s passphrase (for a yes)</label>'
                    '<input id="passphrase" name="passphrase" type="password" autocomplete="off">'
                )
            case "code":
                yield (
                    '<label for="code">Code (for a yes). Approve without one, and the server shows it on its terminal '
                    'or in its log.</label><input id="code" name="code" autocomplete="off" autocapitalize="none">'
                )
            case _:
                pass
        yield '<button name="answer" value="approve">Approve once</button>'
    yield '<button name="answer" value="deny">Deny</button>'
    if not form.only_deny:
        yield '<button name="answer" value="defer">Later: the agent goes on with other work</button>'
    yield "</form>"


def _block(arguments: Any) -> str:
    text = arguments if isinstance(arguments, str) else fast.format(fast.encode(arguments), indent=2).decode()
    return f"<pre><bdi>{_lines(text)}</bdi></pre>"


def _left(question: Question, now: datetime) -> str:
    seconds = max(0, round((question.expires - now).total_seconds()))
    return f"{seconds // 60} min {seconds % 60} s left" if seconds < 7200 else f"{seconds // 3600} h left"


def _shown(text: str) -> str:
    """A text on one line, as text alone."""
    return f"<bdi>{escape(one_line(text))}</bdi>" if not text.isascii() else escape(one_line(text))


def _lines(text: str) -> str:
    return escape(plain(text))
