"""Run the rows of the scorecard, keep the results, and write docs/scorecard.md.

Without options every row runs in its short form. Rows that measure time run one after another; the others run beside
each other. Exit codes: 0 no row failed, 1 a row failed or the page is not up to date, 2 the rows can not be read,
64 wrong arguments.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path

import msgspec

from tests.scorecard.page import PAGE, write_page
from tests.scorecard.results import (
    Results,
    ResultsError,
    RowRuns,
    judge,
    judge_long,
    load_results,
    refresh_outcomes,
    replace_text,
    save_results,
)
from tests.scorecard.rows import Row, RowsError, Scorecard, load_rows
from tests.scorecard.running import Commands, run_long, run_short
from tests.scorecard.showing import Progress, list_rows, say_result, show_totals

Work = Callable[[Row, RowRuns], RowRuns]
USAGE = 64


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(sys.argv[1:] if arguments is None else arguments)
    try:
        card, results = load_rows(), load_results()
        rows = _choose(card, options.long or options.row)
    except (RowsError, ResultsError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    results = refresh_outcomes(card, results)
    if options.list:
        _print_json(card.rows, results) if options.json else list_rows(card, results)
        return 0
    if options.check:
        return _check_page(card, results)
    if options.page:
        _keep(card, results)
        return 0
    return _run(card, rows, results, options)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/scorecard", description=__doc__.partition("\n")[0])
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--row", nargs="+", metavar="ROW", default=[], help="run only these rows")
    what.add_argument("--long", nargs="+", metavar="ROW", default=[], help="run the full form of these rows")
    what.add_argument("--list", action="store_true", help="show the rows with their last results; run nothing")
    what.add_argument("--check", action="store_true", help="is the page what rows and results say? Run nothing")
    what.add_argument("--page", action="store_true", help="write the page from rows and last results; run nothing")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="rows at once (cores)")
    before, found, files = _partition(arguments)
    try:
        options = parser.parse_args(before)
    except SystemExit as end:
        raise SystemExit(USAGE if end.code else 0) from None
    if options.jobs < 1:
        sys.stderr.write("--jobs is at least 1\n")
        raise SystemExit(USAGE)
    if found and not options.long:
        sys.stderr.write("files come after --long ROW --\n")
        raise SystemExit(USAGE)
    options.files = files
    return options


def _partition(arguments: Sequence[str]) -> tuple[list[str], bool, list[str]]:
    words = list(arguments)
    if "--" not in words:
        return words, False, []
    at = words.index("--")
    return words[:at], True, words[at + 1 :]


def _choose(card: Scorecard, ids: Sequence[str]) -> list[Row]:
    """The rows of these ids, in the order of the page; all of them if none is named."""
    known = {row.id for row in card.rows}
    for id in ids:
        if id not in known:
            raise RowsError(f"there is no row {id}. scripts/scorecard --list shows them")
    return [row for row in card.rows if row.id in ids or not ids]


def _check_page(card: Scorecard, results: Results) -> int:
    on_disk = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
    if on_disk != write_page(card, results):
        sys.stderr.write(
            "docs/scorecard.md is not what the rows and the last results say. Run scripts/scorecard --page\n"
        )
        return 1
    sys.stdout.write("docs/scorecard.md is what the rows and the last results say\n")
    return 0


def _keep(card: Scorecard, results: Results) -> None:
    """Write the results and the page, so that one never says what the other does not."""
    save_results(results, card)
    replace_text(PAGE, write_page(card, results))


def _run(card: Scorecard, rows: Sequence[Row], results: Results, options: argparse.Namespace) -> int:
    logs = Path(tempfile.mkdtemp(prefix="interpose-scorecard-"))
    commands, progress = Commands(logs), Progress(len(rows))
    lock = threading.Lock()

    def work(row: Row) -> Row:
        began = partial(progress.begin, row)
        runs = results.get(row.id, RowRuns())
        new = (
            run_long(row, runs, options.files, commands, began)
            if options.long
            else run_short(row, runs, commands, began)
        )
        with lock:
            results[row.id] = new
            _keep(card, results)
        run = new.long if options.long else new.short
        if run is not None:
            progress.finish(row, run.outcome, run.seconds or 0.0, _say(row, new, long=bool(options.long)))
        return row

    try:
        for row in rows:
            if row.alone or options.long:
                _watch([_start(work, row)], progress)
        with ThreadPoolExecutor(options.jobs) as pool:
            try:
                _watch([pool.submit(work, row) for row in rows if not (row.alone or options.long)], progress)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                commands.stop()
                raise
    except RowsError as error:
        progress.end()
        sys.stderr.write(f"{error}\n")
        return USAGE
    except KeyboardInterrupt:
        progress.end()
        sys.stderr.write("stopped. Rows that were finished are kept\n")
        return 130
    finally:
        commands.stop()
        progress.end()
        if not any(logs.iterdir()):
            logs.rmdir()
    if logs.is_dir():
        sys.stderr.write(f"output of what failed: {logs}\n")
    _print_json(rows, results) if options.json else show_totals(rows, results)
    return 1 if any(_failed(row, results[row.id], long=bool(options.long)) for row in rows) else 0


def _start(work: Callable[[Row], Row], row: Row) -> Future[Row]:
    """Run a row in a thread of its own, beside which the progress is drawn."""
    future: Future[Row] = Future()

    def run() -> None:
        try:
            future.set_result(work(row))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def _watch(futures: Sequence[Future[Row]], progress: Progress) -> None:
    """Wait for all, and draw the progress meanwhile. Raises what one of them raised."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=0.5, return_when=FIRST_COMPLETED)
        progress.tick()
        for one in done:
            one.result()


def _say(row: Row, runs: RowRuns, *, long: bool) -> str:
    if not long or runs.long is None:
        return say_result(row, runs)
    return " ".join([runs.long.scale, *judge_long(row, runs.long).reasons])


def _failed(row: Row, runs: RowRuns, *, long: bool) -> bool:
    if long and runs.long is not None:
        return judge_long(row, runs.long).outcome == "failed"
    return judge(row, runs).outcome in ("failed", "not run")


def _print_json(rows: Sequence[Row], results: Results) -> None:
    found = []
    for row in rows:
        runs = results.get(row.id, RowRuns())
        judgement = judge(row, runs)
        found.append(
            {"id": row.id, "promise": row.promise, "outcome": judgement.outcome, "reasons": judgement.reasons}
            | msgspec.to_builtins(runs)
        )
    sys.stdout.write(msgspec.json.format(msgspec.json.encode({"rows": found}), indent=2).decode() + "\n")


if __name__ == "__main__":
    sys.exit(main())
