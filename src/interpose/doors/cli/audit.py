"""`interpose audit`: look into the ledger, prove that it is whole, and hand it on."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, get_args

import msgspec

from interpose.core.config.load import load
from interpose.core.errors import ConfigError, DamagedStoreError, LedgerError, StoreError
from interpose.core.formats.counted import plural
from interpose.doors.cli import EXIT_CONFIG, EXIT_INTERNAL, EXIT_USAGE
from interpose.doors.cli.auditing.audit_query import (
    Opened,
    add_canaries,
    add_filters,
    add_ledger,
    anchors_meant,
    canaries,
    opened,
    query_of,
    recover_meant,
)
from interpose.doors.cli.auditing.audit_stats import drawn
from interpose.doors.cli.auditing.audit_text import lines, page
from interpose.doors.cli.auditing.kept_store import with_remedy
from interpose.doors.cli.explaining.call_arguments import UsageError
from interpose.doors.cli.explaining.verdict_text import Ink, visible, visible_lines
from interpose.doors.cli.shared.closed_values import one_of
from interpose.doors.cli.shared.json_output import encoded
from interpose.doors.cli.shared.terminal import colours_wanted
from interpose.doors.hooks.install.situation import grant_flaws
from interpose.record.ledger import OLD_FORMATS, Broken, Format, Record, named, search, shapes, verify_directory
from interpose.record.ledger.canaries import SESSION, CanarySieve
from interpose.record.ledger.stats import stats
from interpose.record.store.protocols import Query

EXIT_BROKEN = 1
PAGE = 1000
POLL_SECONDS = 0.5
SHOWN = 100
"""Calls of a request that `show` shows: a caller may give all of its requests the same id."""

_EPILOG = """exit codes: 0 done, found or whole, or a list of a home in which nothing was recorded yet; 1 nothing found,
or a ledger that was tampered with; 64 wrong usage; 70 internal error, or a ledger that can't be read; 78 a
configuration that can't be loaded"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `audit` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    acts = parser.add_subparsers(dest="act", metavar="act", required=True)
    tail = acts.add_parser("tail", help="the last records")
    tail.add_argument("-f", "--follow", action="store_true", help="go on with new ones as they come")
    finding = acts.add_parser("search", help="records that match, the newest first")
    finding.add_argument("words", nargs="?", metavar="TEXT", help="calls whose arguments or reasons contain this")
    show = acts.add_parser("show", help="everything about one call, or about the calls of one request")
    show.add_argument("call", metavar="ID", help="the number that tail and search print, a call id or a request id")
    counting = acts.add_parser("stats", help="decisions over time, rules, agents and slow interceptors, drawn")
    proving = acts.add_parser("verify", help="prove that nothing was changed, removed, added or moved")
    mending = acts.add_parser(
        "recover", help="after the files were damaged: set those aside, start a new chain, and let calls run again"
    )
    export = acts.add_parser("export", help="one JSON text a line, the oldest first")
    export.add_argument("-o", "--output", metavar="FILE", help="write there instead of to stdout")
    for act in (tail, finding):
        act.add_argument("-n", "--limit", type=_count, default=20, help="how many at most (default: 20)")
    for act in (tail, finding, counting, export):
        add_filters(act)
    for act in (tail, finding, counting):
        add_canaries(act)
    for act in (tail, finding, show, export):
        act.add_argument("--format", type=_format, choices=get_args(Format), help="the shape of the JSON")
    for act in (tail, finding, show, counting, proving, mending):
        act.add_argument("--json", action="store_true", help="print JSON")
    for act in (tail, finding, show, counting, proving, mending, export):
        add_ledger(act)


def _format(text: str) -> str:
    return one_of("format", get_args(Format))(OLD_FORMATS.get(text, text))


def _count(text: str) -> int:
    number = int(text)
    if not 0 < number <= 1_000_000:
        raise argparse.ArgumentTypeError("must be between 1 and 1000000")
    return number


def run(args: argparse.Namespace) -> int:
    """Run `interpose audit`."""
    try:
        if args.act == "recover":
            return _recover(args)
        with opened(args, must_exist=args.act == "verify") as ledger:
            return _ACTS[args.act](args, ledger)
    except UsageError as error:
        return _failed(args, error, EXIT_USAGE)
    except ConfigError as error:
        return _failed(args, error, EXIT_CONFIG)
    except BrokenPipeError:
        raise  # not an error of ours: see cli/__init__.py
    except (StoreError, LedgerError, OSError) as error:
        if args.act == "verify" and isinstance(error, DamagedStoreError):
            return _failed(args, error, EXIT_BROKEN)
        return _failed(args, error, EXIT_CONFIG if isinstance(error.__cause__, ImportError) else EXIT_INTERNAL)
    except KeyboardInterrupt:
        return 0  # how people end `tail -f`


def _failed(args: argparse.Namespace, error: Exception, code: int) -> int:
    print(f"interpose audit {args.act}: {visible_lines(with_remedy(error))}", file=sys.stderr)
    return code


def _tail(args: argparse.Namespace, ledger: Opened) -> int:
    query = query_of(args, time.time())
    # Known before the first page is read: an entry that comes in between is shown twice rather than never.
    seen = _heads(ledger)
    sieve = _sieve(args)
    found = search(ledger.store, query, args.limit, wanted=sieve)[::-1]
    _print(found, args)
    _tell(sieve)
    if not args.follow:
        return _listed(found, ledger)
    shown = {record.call_id for record in found}
    while True:
        sys.stdout.flush()
        time.sleep(POLL_SECONDS)
        new = [call for call in _new_calls(ledger, seen) if call not in shown]
        fresh = [record for call in new for record in search(ledger.store, _of_call(query, call), 1, wanted=sieve)]
        _print(fresh, args)
        shown = set(new)


def _sieve(args: argparse.Namespace) -> CanarySieve:
    """Leaves canaries out of what people look at. Programs get everything."""
    return CanarySieve(shown=bool(args.canaries or args.json or args.format or args.session))


def _tell(sieve: CanarySieve) -> None:
    if sieve.left_out:
        verb = "is" if sieve.left_out == 1 else "are"
        print(f"{canaries(sieve.left_out)} {verb} not shown: --canaries shows them", file=sys.stderr)


def _heads(ledger: Opened) -> dict[str, int]:
    heads = {writer: ledger.store.head(writer) for writer in ledger.store.writers()}
    return {writer: head.seq for writer, head in heads.items() if head is not None}


def _new_calls(ledger: Opened, seen: dict[str, int]) -> Iterator[str]:
    """Calls decided since. Along each chain: positions of several writers may appear out of order."""
    for writer in ledger.store.writers():
        while found := ledger.store.scan(writer, seen.get(writer, 0), PAGE):
            seen[writer] = found[-1].seq
            yield from (entry.call_id for entry in found if entry.kind == "decided")


def _of_call(query: Query, call_id: str) -> Query:
    return msgspec.structs.replace(query, call_id=call_id)


def _search(args: argparse.Namespace, ledger: Opened) -> int:
    if args.words and args.text:
        raise UsageError("say the text once: as TEXT or with --text")
    sieve = _sieve(args)
    found = search(ledger.store, query_of(args, time.time()), args.limit, wanted=sieve)
    _print(found, args)
    if not (found or ledger.missing or args.json or args.format):
        print("nothing found", file=sys.stderr)
    _tell(sieve)
    return _listed(found, ledger)


def _listed(found: list[Record], ledger: Opened) -> int:
    """Nothing found is an answer of its own, unless there is nothing to search yet."""
    _tell_missing(ledger)
    return 0 if found or ledger.missing else EXIT_BROKEN


def _tell_missing(ledger: Opened) -> None:
    if ledger.missing:
        print(f"nothing was recorded yet: there is no ledger at {visible(ledger.missing)}", file=sys.stderr)


def _show(args: argparse.Namespace, ledger: Opened) -> int:
    found = _meant(args.call, ledger)
    if not found:
        print(f"interpose audit show: there is no call, number or request {visible(args.call)}", file=sys.stderr)
        return EXIT_BROKEN
    shown = found[-SHOWN:]
    if args.json or args.format:
        for record in shown:
            for shape in shapes(record, args.format or "record"):
                _write_json(shape, indent=2)
        return 0
    ink = Ink(colours_wanted())
    if len(found) > 1:
        print(_heading(args.call, len(found), ink))
    print("\n\n".join(page(record, ink) for record in shown))
    return 0


def _heading(request: str, count: int, ink: Ink) -> str:
    name = visible(request)
    if count <= SHOWN:
        return ink(f"{count} calls of request {name}", "1") + "\n"
    more = f"`interpose audit search --request {shlex.quote(name)} -n 1000` lists more"
    return ink(f"the last {SHOWN} calls of request {name}", "1") + f" ({more})\n"


def _meant(name: str, ledger: Opened) -> list[Record]:
    """The number comes first: whoever calls a request `12` must not hide the twelfth record."""
    number = name.removeprefix("#")
    if number.isascii() and number.isdigit() and len(number) < 19:
        at = ledger.store.query(Query(), 1, int(number) - 1, oldest_first=True)
        if at and at[0].position == int(number) and at[0].call_id:
            return named(ledger.store, at[0].call_id, SHOWN + 1)
    return named(ledger.store, name, SHOWN + 1)


def _stats(args: argparse.Namespace, ledger: Opened) -> int:
    _tell_missing(ledger)
    without = "" if args.canaries or args.json else SESSION
    counted = stats(ledger.store, query_of(args, time.time()), without=without)
    if args.json:
        _write_json(msgspec.to_builtins(counted), indent=2)
    else:
        print(drawn(counted, Ink(colours_wanted()), _width() or 100))
    return 0


def _verify(args: argparse.Namespace, ledger: Opened) -> int:
    checked = verify_directory(ledger.directory, ledger.store, anchors_meant(args))
    grants = grant_flaws(load().config, ledger.store)
    if args.json:
        _write_json(msgspec.to_builtins(checked) | {"ok": checked.ok and not grants, "grants": grants}, indent=2)
        return 0 if checked.ok and not grants else EXIT_BROKEN
    ink = Ink(colours_wanted())
    word = "BROKEN" if not checked.ok else "RECOVERED" if checked.known else "WHOLE"
    counted = f"entries {checked.entries:,}   writers {checked.writers:,}   checkpoints {checked.checkpoints:,}"
    if checked.repairs:
        counted += f"   repairs after a crash {checked.repairs:,}"
    print(f"{ink(word, '1;32' if checked.ok else '1;31')}  {counted}")
    if not checked.signed:
        print(f"  no key in {visible(str(ledger.directory))}: chains were followed, signatures were not checked")
    for broken in checked.broken:
        print(f"  {_place(broken)}{visible(broken.why)}{_call_at(broken, ledger)}")
    for broken in checked.known:
        print(f"  known since `audit recover`: {_place(broken)}{visible(broken.why)}")
    if checked.broken:
        print("  what is damaged stays as it is until `interpose audit recover` sets it aside and starts a new chain")
    for flaw in grants:
        print(f"  {ink('ALARM', '1;31')}  {visible(flaw)}")
    return 0 if checked.ok and not grants else EXIT_BROKEN


def _place(broken: Broken) -> str:
    if not broken.writer:
        return ""
    entry = f"entry {broken.seq} of " if broken.seq else ""
    return f"{entry}writer {visible(broken.writer)}: "


def _recover(args: argparse.Namespace) -> int:
    done = recover_meant(args)
    if args.json:
        _write_json(msgspec.to_builtins(done), indent=2)
        return 0
    if done.set_aside:
        print(f"set aside: {visible(done.set_aside)}")
    for broken in done.broken:
        print(f"broken: {_place(broken)}{visible(broken.why)}")
    for why in done.waiting:
        print(f"refused calls, and goes on now: {visible(why)}")
    if done.chain:
        searched = plural(done.entries, "entry", "entries")
        print(f"{searched} can be searched; new ones go to the chain of writer {visible(done.chain)}")
    if not (done.set_aside or done.broken or done.waiting):
        print("nothing was damaged")
    return 0


def _call_at(broken: Broken, ledger: Opened) -> str:
    """Which call stands where a chain breaks, as far as the ledger still knows."""
    try:
        found = ledger.store.scan(broken.writer, max(0, broken.seq - 1), 1)
    except DamagedStoreError:
        return ""
    return f" (#{found[0].position}, call {visible(found[0].call_id)})" if found and found[0].call_id else ""


def _export(args: argparse.Namespace, ledger: Opened) -> int:
    _tell_missing(ledger)
    query = query_of(args, time.time())
    if not args.output:
        _write_records(sys.stdout.buffer, query, args, ledger)
        return 0
    handle = os.open(Path(args.output), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        _write_records(file, query, args, ledger)
    return 0


def _write_records(file: BinaryIO, query: Query, args: argparse.Namespace, ledger: Opened) -> None:
    after: int | None = None
    while found := search(ledger.store, query, PAGE, after, oldest_first=True):
        after = found[-1].position
        for record in found:
            for shape in shapes(record, args.format or "record"):
                file.write(encoded(shape) + b"\n")


def _print(found: list[Record], args: argparse.Namespace) -> None:
    if args.json or args.format:
        for record in found:
            for shape in shapes(record, args.format or "record"):
                _write_json(shape)
        return
    for line in lines(found, Ink(colours_wanted()), _width()):
        print(line)


def _write_json(value: dict[str, object], indent: int = 0) -> None:
    text = encoded(value)
    sys.stdout.buffer.write((msgspec.json.format(text, indent=indent) if indent else text) + b"\n")
    sys.stdout.buffer.flush()


def _width() -> int | None:
    """How wide the terminal is; None where nobody cuts lines off."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


_ACTS: dict[str, Callable[[argparse.Namespace, Opened], int]] = {
    "tail": _tail, "search": _search, "show": _show, "stats": _stats, "verify": _verify, "export": _export,
}  # fmt: skip
