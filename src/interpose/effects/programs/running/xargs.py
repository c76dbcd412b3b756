"""Commands that build other commands out of their input: `xargs` and `parallel`."""

from __future__ import annotations

from interpose.effects.handler_table import command
from interpose.effects.invocation import UNKNOWN, Invocation, Lowering, Stream, Word
from interpose.effects.programs.running.printf import unescape
from interpose.effects.programs.running.shells import POSIX_SHELLS
from interpose.effects.programs.shared.disk_space import ENDLESS
from interpose.effects.programs.shared.peel import Wrapper, base_name, input_as_code, peel, run_inner

MAX_RUNS = 16
"""So many known items get a run of their own; the rest is taken together as unknown."""

_XARGS = Wrapper(
    flags="0ortxp", values="aEdILnPsJRS", attached="eil",
    long=("null", "no-run-if-empty", "verbose", "exit", "interactive", "open-tty", "show-limits", "replace", "eof",
          "max-lines"),
    long_values=("arg-file", "delimiter", "max-args", "max-procs", "max-chars", "process-slot-var"),
)  # fmt: skip
_PARALLEL = Wrapper(
    flags="0Xkmqtuv", values="aCdIjJLnNPsS", attached="il",
    long=("null", "dry-run", "dryrun", "keep-order", "verbose", "progress", "bar", "eta", "line-buffer", "lb",
          "linebuffer", "group", "ungroup", "quote", "pipe", "no-notice", "will-cite", "resume", "resume-failed", "tag",
          "xargs", "pipepart", "plain", "link", "files", "silent", "no-run-if-empty", "bg", "fg", "semaphore", "shuf",
          "header", "max-args", "round-robin", "use-cpus-instead-of-cores", "citation", "nonall", "onall", "fifo",
          "cat", "interactive"),
    long_values=("arg-file", "jobs", "max-procs", "colsep", "delimiter", "delay", "timeout", "retries", "halt",
                 "joblog", "results", "sshlogin", "sshloginfile", "workdir", "wd", "tmpdir", "load", "memfree", "nice",
                 "block", "recstart", "recend", "tagstring", "max-replace-args", "max-lines", "env", "basefile",
                 "return", "transferfile", "semaphorename", "id", "tempdir", "profile", "rpl", "termseq"),
)  # fmt: skip

_SEPARATORS = (":::", "::::", ":::+", "::::+")


@command("xargs", "gxargs")
def xargs(inv: Invocation, low: Lowering) -> None:
    peeled = peel(inv.args, _XARGS, low)
    if peeled.informs:
        return
    options = peeled.options
    source = _source(inv, low, options.value("-a", "--arg-file"))
    replace = options.value("-I", "-J") or options.value("-i", "--replace")
    marker = replace.text if replace is not None else ("{}" if options.has("-i", "--replace") else "")
    lines = bool(marker) or options.has("-L", "-l", "--max-lines")
    if options.has("-0", "--null"):
        separator: str | None = "\0"
    elif delimiter := options.value("-d", "--delimiter"):
        separator = unescape(delimiter.text)[0] or "\n"
    else:
        separator = "\n" if lines else None
    items = _items(source, separator, inv)
    if ENDLESS in source.taints and peeled.inner:
        low.emit("system", "processes", certainty="possible", rule="fork-bomb",
                 reason="Starts processes without an end")  # fmt: skip
    if not peeled.inner:
        low.output(Stream(" ".join(item.text for item in items) + "\n", source.taints))
    elif marker:
        if inv.stdin is not None and (source.text is None or "output" in source.taints):
            _state_injection(peeled.inner, marker, low)
        for item in items:
            words = tuple(_replaced(word, marker, item) for word in peeled.inner)
            run_inner(words if words != peeled.inner else (*peeled.inner, item), low, "xargs")
    elif options.has("-n", "--max-args", "-L", "-l", "--max-lines"):
        for group in _groups(items, options.value("-n", "--max-args")):
            run_inner((*peeled.inner, *group), low, "xargs")
    else:
        if len(peeled.inner) == 1 and "output" in source.taints and base_name(peeled.inner[0]) in POSIX_SHELLS:
            low.emit("opaque", peeled.inner[0].text, certainty="possible", at=peeled.inner[0], rule="found-code",
                     reason="Whatever was found is run as a script")  # fmt: skip
        run_inner((*peeled.inner, *items), low, "xargs")


def _groups(items: list[Word], size: Word | None) -> list[list[Word]]:
    """The items that are given to one run each."""
    number = int(size.text[:4]) if size is not None and size.text.isdecimal() else 1
    step = max(number, 1)
    return [items[place : place + step] for place in range(0, len(items), step)]


def _state_injection(words: tuple[Word, ...], marker: str, low: Lowering) -> None:
    """`sh -c 'echo {}'`: a file name is put into code, and a file may be called `$(...)`."""
    names = [base_name(word) for word in words]
    for index, word in enumerate(words[2:], start=2):
        if marker in word.text and words[index - 1].text.endswith("c") and names[index - 2] in POSIX_SHELLS:
            low.emit("opaque", word.text, certainty="possible", at=word, rule="item-as-code",
                     reason="Text that is only known when it runs becomes part of a shell command")  # fmt: skip


@command("parallel")
def parallel(inv: Invocation, low: Lowering) -> None:
    words = list(inv.args)
    cut = next((index for index, word in enumerate(words) if word.text in _SEPARATORS), len(words))
    peeled = peel(tuple(words[:cut]), _PARALLEL, low)
    if peeled.informs or peeled.options.has("--dry-run", "--dryrun", "--citation"):
        return
    if cut < len(words):
        items = _parallel_arguments(words[cut:], low)
    else:
        items = _items(_source(inv, low, peeled.options.value("-a", "--arg-file")), "\n", inv)
    if peeled.options.has("--pipe", "--pipepart"):
        run_inner(peeled.inner, low, "parallel")
        return
    given = peeled.options.value("-I")
    marker = given.text if given else "{}"
    if not peeled.inner:
        for item in items:
            if cut == len(words):
                input_as_code(item, low)
            low.shell(item, via="parallel")
        return
    for item in items:
        _parallel_run(peeled.inner, marker, item, low)


def _parallel_run(template: tuple[Word, ...], marker: str, item: Word, low: Lowering) -> None:
    """The words of the template are joined and given to a shell; the item is put in quoted."""
    markers = (marker, "{1}", "{.}", "{/}", "{//}", "{1.}")
    used = any(known in word.text for word in template for known in markers)
    words = template
    for known in markers:
        words = tuple(_replaced(word, known, item) for word in words)
    if not used:
        words = (*words, item)
    if len(words) == 1 or (len(template) == 1 and " " in template[0].text):
        text = " ".join(word.text for word in words)
        low.shell(Word(text, template[0].span, taints=item.taints | template[0].taints), via="parallel")
    else:
        run_inner(words, low, "parallel")


def _parallel_arguments(words: list[Word], low: Lowering) -> list[Word]:
    items: list[Word] = []
    reading = False
    for word in words:
        if word.text in _SEPARATORS:
            reading = word.text.startswith("::::")
        elif reading:
            stream = low.read(word)
            items.append(Word(UNKNOWN, word.span, taints=stream.taints | {"input"}))
        else:
            items.append(word)
    return items[:MAX_RUNS] + ([Word(UNKNOWN, taints=frozenset({"input"}))] if len(items) > MAX_RUNS else [])


def _source(inv: Invocation, low: Lowering, path: Word | None) -> Stream:
    if path is not None and path.text != "-":
        return low.read(path)
    return inv.stdin or Stream()


def _items(source: Stream, separator: str | None, inv: Invocation) -> list[Word]:
    """The input cut into items. Quotes are only taken off: what xargs makes of them is one word either way."""
    if source.text is None:
        return [Word(UNKNOWN, inv.span, taints=source.taints | {"input"})]
    if separator is None:
        parts = [part.strip("'\"") for part in source.text.split()]
        if "'" in source.text or '"' in source.text:
            parts = [source.text.strip().strip("'\""), *parts] if len(parts) > 1 else parts
    else:
        parts = [part.strip(" ") for part in source.text.split(separator)]
    taints = source.taints | {"input"}
    found = [Word(part.strip("\n"), inv.span, quoted=True, taints=taints) for part in parts if part.strip()]
    if len(found) > MAX_RUNS:
        found = [*found[:MAX_RUNS], Word(UNKNOWN, inv.span, taints=source.taints | {"input"})]
    return found


def _replaced(word: Word, marker: str, item: Word) -> Word:
    if not marker or marker not in word.text:
        return word
    taints = word.taints | item.taints
    if item.known and word.text != marker:
        # The text around it decides what a known item is: only an item that stands alone can be code by itself.
        taints -= {"input"}
    return Word(word.text.replace(marker, item.text), word.span, word.glob, word.quoted, taints)
