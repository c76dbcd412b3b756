"""PowerShell programs: cmdlets and their aliases, pipelines, sub-expressions, and what downloads and runs code."""

from __future__ import annotations

from msgspec import Struct

from interpose.shell.invocation import NOTHING, UNKNOWN, Lowering, Stream, Word
from interpose.shell.languages.powershell_syntax import Pipeline, PowershellReader, Term
from interpose.shell.languages.powershell_tables import ALIASES, CMDLETS, CONTAINERS, VALUE_PARAMETERS, Cmdlet
from interpose.shell.languages.windows_paths import posix_word

_DOWNLOADS = ("downloadstring", "downloaddata", "downloadfile", "openread")


class Flow(Struct, frozen=True):
    """What flows through a pipeline."""

    text: str | None = None
    taints: frozenset[str] = NOTHING
    paths: tuple[Word, ...] = ()


def lower(code: str, low: Lowering, via: str) -> None:
    """State what a PowerShell program would do."""
    variables = {"home": "~", "env:userprofile": "~", "env:home": "~", "pwd": low.cwd,
                 "env:systemroot": "%systemroot%", "true": "True",
                 "env:windir": "%systemroot%", "env:systemdrive": "C:", "env:temp": "%temp%", "false": "False",
                 "null": ""}  # fmt: skip
    reader = PowershellReader(code, variables)
    run_pipelines(reader.pipelines(), low, variables)
    if reader.too_deep:
        low.emit("opaque", via, certainty="unknown", rule="too-deep", reason="The program is too deep to be followed")


def run_pipelines(pipelines: tuple[Pipeline, ...], low: Lowering, variables: dict[str, str]) -> Flow:
    """Run statements one after the other; gives what the last one prints."""
    flow = Flow()
    for pipeline in pipelines:
        flow = Flow()
        for position, words in enumerate(pipeline):
            flow = _command(words, flow if position else None, low, variables)
    return flow


def _command(words: tuple[Term, ...], incoming: Flow | None, low: Lowering, variables: dict[str, str]) -> Flow:
    inner = Flow()
    for word in words:
        if word.inner:
            found = run_pipelines(word.inner, low, variables)
            inner = Flow(None, inner.taints | found.taints, inner.paths + found.paths)
    while words and words[0].text.lower() in (
        ".",
        "if",
        "else",
        "elseif",
        "foreach",
        "while",
        "try",
        "catch",
        "do",
        "return",
        "function",
        "finally",
    ):
        words = words[1:]
    if not words:
        return inner
    head = words[0].text
    if len(words) > 1 and words[1].text == "=" and head == UNKNOWN:
        # A variable is assigned: what stands behind runs, and its value is not followed.
        return _command(words[2:], None, low, variables) if len(words) > 2 else inner
    taints = inner.taints | (incoming.taints if incoming else NOTHING)
    compact = "".join(word.text for word in words).lower()
    if any(name in compact for name in _DOWNLOADS):
        low.emit("net.download", _url(words))
        taints |= {"remote"}
    if head.startswith("["):
        return _static(compact, low, taints)
    arguments = tuple(Word(term.text, taints=inner.taints, quoted=True) for term in words[1:])
    return cmdlet(head, arguments, incoming or (inner if inner.paths or inner.taints else None), low, taints)


def cmdlet(
    name: str, args: tuple[Word, ...], incoming: Flow | None, low: Lowering, taints: frozenset[str] = NOTHING
) -> Flow:
    """State what one cmdlet, alias or program does; `incoming` is what a pipe brings."""
    full = ALIASES.get(name.lower(), name.lower())
    spec = CMDLETS.get(full)
    if spec is None:
        return _other(name, full, args, incoming, low, taints)
    named, positional = _parameters(args)
    if "whatif" in named:
        return Flow(None, taints)
    return _known(full, spec, named, positional, incoming, low, taints)


def _parameters(args: tuple[Word, ...]) -> tuple[dict[str, Word], list[Word]]:
    named: dict[str, Word] = {}
    positional: list[Word] = []
    queue = list(args)
    index = 0
    while index < len(queue):
        text = queue[index].text
        index += 1
        if len(text) > 1 and text[0] == "-" and text[1].isalpha():
            name, _, attached = text[1:].lower().partition(":")
            full = next((known for known in VALUE_PARAMETERS if known.startswith(name) and len(name) > 2), name)
            if attached:
                named[full] = Word(attached)
            elif full in VALUE_PARAMETERS and index < len(queue):
                named[full] = queue[index]
                index += 1
            else:
                named[full] = Word("")
        elif len(text) > 1 and text[0] == "/" and text[1:].isalpha() and len(text) <= 3:
            named[text[1:].lower()] = Word("")
        else:
            positional.append(queue[index - 1])
    return named, positional


def _known(
    full: str,
    spec: Cmdlet,
    named: dict[str, Word],
    positional: list[Word],
    incoming: Flow | None,
    low: Lowering,
    taints: frozenset[str],
) -> Flow:
    targets = _targets(named, positional, incoming)
    match spec.does:
        case "delete":
            for word in targets:
                low.delete(posix_word(word, low.home), recursive=_recurses(named), forced="force" in named)
        case "write":
            for word in targets[:1]:
                low.write(posix_word(word, low.home), Stream(None, taints), append=full == "add-content")
        case "read":
            taints |= low.read(posix_word(targets[0], low.home)).taints if targets else NOTHING
        case "list":
            # What is listed may be removed by the next command: a listing of a tree stands for the tree.
            return Flow(None, taints, tuple(targets) or (Word("."),))
        case "move":
            low.run(
                (Word("mv" if full != "copy-item" else "cp"), *(posix_word(word, low.home) for word in positional[:2])),
                via=full,
            )
        case "download":
            low.emit(
                "net.download" if "body" not in named and "infile" not in named else "net.upload",
                targets[0].text if targets else UNKNOWN,
            )
            if "outfile" in named:
                low.write(posix_word(named["outfile"], low.home), Stream(None, frozenset({"remote"})))
            return Flow(None, taints | {"remote"})
        case "code":
            text = Word(" ".join(word.text for word in positional), taints=taints)
            if not positional:
                known = incoming.text if incoming is not None else None
                text = Word(UNKNOWN if known is None else known, taints=taints)
            low.code("powershell", text, via=full)
        case "start":
            _start(named, positional, low)
        case "effect":
            low.emit(
                spec.kind, targets[0].text if targets else full, rule=spec.rule, reason=spec.reason, wide=spec.wide
            )
        case "none":
            pass
    return Flow(None, taints, incoming.paths if incoming and spec.does == "none" else ())


def _targets(named: dict[str, Word], positional: list[Word], incoming: Flow | None) -> list[Word]:
    """What a cmdlet acts on: a named path, its operands, or what flows in."""
    targets = [named[key] for key in ("path", "literalpath", "filepath", "uri") if key in named] or positional
    if not targets and incoming is not None:
        return list(incoming.paths) or [Word(UNKNOWN, taints=incoming.taints)]
    return targets


def _recurses(named: dict[str, Word]) -> bool:
    return any(key in ("rf", "fr", "s") or (key and "recurse".startswith(key)) for key in named)


def _start(named: dict[str, Word], positional: list[Word], low: Lowering) -> None:
    program = named.get("filepath") or (positional[0] if positional else None)
    rest = [named["argumentlist"], *positional] if "argumentlist" in named else positional[1:]
    if named.get("verb", Word("")).text.lower() == "runas":
        low.emit("privilege", "administrator")
    if program is not None:
        words = tuple(Word(part) for word in rest for part in word.text.split())
        low.run((program, *words), via="Start-Process")


def _other(
    name: str, full: str, args: tuple[Word, ...], incoming: Flow | None, low: Lowering, taints: frozenset[str]
) -> Flow:
    if full in CONTAINERS or full.startswith(
        ("get-", "test-", "select-", "where-", "format-", "sort-", "measure-", "out-", "convert", "write-")
    ):
        paths = incoming.paths if incoming else ()
        return Flow(
            None, taints, paths if full in CONTAINERS or full.startswith(("where-", "sort-", "select-")) else ()
        )
    if UNKNOWN in name:
        if taints & {"remote", "decoded"}:
            low.code("powershell", Word(UNKNOWN, taints=taints), via="&")
        return Flow(None, taints)
    verb, dash, _ = full.partition("-")
    if dash and verb in ("remove", "clear", "uninstall", "reset", "revoke", "unregister"):
        low.emit("system", name, certainty="possible", rule="powershell-remove",
                 reason=f"{name} removes something that may not come back")  # fmt: skip
    elif not dash or not verb.isalpha():
        stream = Stream(None, incoming.taints) if incoming is not None else None
        low.run((Word(name), *args), via="powershell", stdin=stream)
    return Flow(None, taints)


def _static(compact: str, low: Lowering, taints: frozenset[str]) -> Flow:
    """Calls into .NET: `[IO.Directory]::Delete('C:\\', $true)`."""
    if "::delete" in compact and ("file]" in compact or "directory]" in compact):
        target = compact.partition("::delete")[2].strip("()'\" ")
        low.delete(posix_word(Word(target or UNKNOWN), low.home), recursive="directory]" in compact)
    elif "frombase64string" in compact:
        taints |= {"decoded"}
    elif "sockets.tcpclient" in compact:
        taints |= {"remote"}
    return Flow(None, taints)


def _url(words: tuple[Term, ...]) -> str:
    for word in words:
        for text in (word.text, *(term.text for pipeline in word.inner for command in pipeline for term in command)):
            if "://" in text:
                return text
    return UNKNOWN
