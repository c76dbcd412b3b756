"""PowerShell programs: cmdlets and their aliases, pipelines, sub-expressions, and what downloads and runs code."""

from __future__ import annotations

from msgspec import Struct

from interpose.effects.invocation import NOTHING, UNKNOWN, Lowering, Stream, Word
from interpose.effects.languages.decoding import plain_text_of
from interpose.effects.languages.powershell_syntax import CALL, Pipeline, PowershellReader, Term, constant_of
from interpose.effects.languages.powershell_tables import (
    ALIASES,
    CMDLETS,
    CONTAINERS,
    HARMLESS,
    VALUE_PARAMETERS,
    Cmdlet,
)
from interpose.effects.languages.windows_paths import posix_word

_DOWNLOADS = ("downloadstring", "downloaddata", "downloadfile", "openread", "getstringasync", "getbytearrayasync")
_UPLOADS = ("uploadstring", "uploadfile", "uploaddata", "uploadvalues", "postasync", "putasync", "sendasync")
_SCRIPTS = ("addscript", "invokescript", "scriptblock]::create", "newscriptblock")
_PASSED = frozenset({".", "if", "else", "elseif", "foreach", "while", "try", "catch", "do", "return", "function",
"finally",
                     "for", "switch", "param", "begin", "process", "end", "throw", "until", "trap",
                     "filter"})  # fmt: skip


class Flow(Struct, frozen=True):
    """What flows through a pipeline."""

    text: str | None = None
    taints: frozenset[str] = NOTHING
    paths: tuple[Word, ...] = ()
    tree: bool = False
    """The paths stand for all that lies below them."""
    dump: bool = False
    """It is the whole environment."""


def lower(code: str, low: Lowering, via: str) -> None:
    """State what a PowerShell program would do."""
    variables = {"home": "~", "env:userprofile": "~", "env:home": "~", "pwd": low.cwd,
                 "env:systemroot": "%systemroot%", "true": "True",
                 "env:windir": "%systemroot%", "env:systemdrive": "C:", "env:temp": "%temp%", "false": "False",
                 "null": ""}  # fmt: skip
    reader = PowershellReader(code, variables)
    run_pipelines(reader.pipelines(), low, variables, shown=True)
    if reader.too_deep:
        low.emit("opaque", via, certainty="unknown", rule="too-deep", reason="The program is too deep to be followed")


def run_pipelines(
    pipelines: tuple[Pipeline, ...], low: Lowering, variables: dict[str, str], *, shown: bool = False
) -> Flow:
    """Run statements one after the other; gives what the last one prints. `shown`: what they print is seen."""
    flow = Flow()
    for pipeline in pipelines:
        flow = Flow()
        for position, words in enumerate(pipeline):
            flow = _command(words, flow if position else None, low, variables)
        if shown and flow.dump:
            low.emit("secret.read", "environment", certainty="possible", rule="environment-dump",
                     reason="Prints the whole environment, with the tokens and passwords in it")  # fmt: skip
    return flow


def _command(words: tuple[Term, ...], incoming: Flow | None, low: Lowering, variables: dict[str, str]) -> Flow:
    inner = Flow()
    for word in words:
        if word.inner:
            found = run_pipelines(word.inner, low, variables)
            inner = Flow(None, inner.taints | found.taints, inner.paths + found.paths)
    called = False
    while words and (words[0] is CALL or (words[0].text.lower() in _PASSED and not words[0].quoted)):
        called = called or words[0] is CALL or words[0].text == "."
        words = words[1:]
    if not words:
        return inner
    head = variables.get(f"alias:{words[0].text.lower()}", words[0].text)
    if len(words) > 1 and words[1].text == "=" and head == UNKNOWN:
        # A variable is assigned: what stands behind runs, and its value is not followed.
        return _command(words[2:], None, low, variables) if len(words) > 2 else inner
    taints = inner.taints.union(*(word.taints for word in words)) | (incoming.taints if incoming else NOTHING)
    compact = "".join(word.text for word in words).lower()
    given = [term.text for word in words for pipeline in word.inner for command in pipeline for term in command]
    if any(name in compact for name in _DOWNLOADS):
        low.emit("net.download", _url(words))
        if "secret" in taints:
            low.emit("net.upload", _url(words), certainty="possible", secret=True)
        taints |= {"remote"}
    special = _method(words[0].text.lower(), given, inner, low, taints, _url(words))
    if special is not None:
        return special
    if head.startswith("["):
        return _static(compact, given, low, taints)
    if words[0].quoted and not called:
        # A value, perhaps for the next command of the pipe.
        text = constant_of(words)
        return Flow(text, taints, (Word(text, quoted=True),) if text is not None else inner.paths)
    if UNKNOWN in head and called and not words[0].inner and not taints & {"remote", "decoded"}:
        low.emit("opaque", head, certainty="unknown", rule="computed-command",
                 reason="Which command runs is only known when it runs")  # fmt: skip
    arguments = tuple(Word(term.text, taints=inner.taints | term.taints, quoted=term.quoted) for term in words[1:])
    if ALIASES.get(head.lower(), head.lower()) in ("set-alias", "new-alias"):
        named, positional = _parameters(arguments)
        names = [*(named[key] for key in ("name", "value") if key in named), *positional]
        if len(names) > 1:
            variables[f"alias:{names[0].text.lower()}"] = names[1].text
        return inner
    return cmdlet(head, arguments, incoming or (inner if inner.paths or inner.taints else None), low, taints)


def _method(
    compact: str, given: list[str], inner: Flow, low: Lowering, taints: frozenset[str], url: str
) -> Flow | None:
    """Methods of objects: what they send, run and delete. None if there is none of these."""
    if any(name in compact for name in _UPLOADS):
        content = (
            low.read(posix_word(Word(given[-1]), low.home)).taints if "uploadfile" in compact and given else NOTHING
        )
        low.emit("net.upload", url, secret="secret" in taints | content, file=True)
        return Flow(None, taints)
    if any(name in compact for name in _SCRIPTS):
        code = given[0] if given else UNKNOWN
        low.code("powershell", Word(code, taints=taints), via="scriptblock")
        return Flow(None, taints)
    if ".delete" in compact and compact.startswith(UNKNOWN):
        for path in inner.paths or (Word(UNKNOWN),):
            low.delete(posix_word(path, low.home), recursive=True, forced=True)
        return Flow(None, taints)
    return None


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
        if len(text) > 1 and text[0] == "-" and text[1].isalpha() and not queue[index - 1].quoted:
            name, _, attached = text[1:].lower().partition(":")
            name = "argumentlist" if name == "args" else name
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
            _delete(
                targets, low, tree=_recurses(named) or (incoming is not None and incoming.tree), forced="force" in named
            )
        case "write":
            value = named.get("value") or (positional[1] if len(positional) > 1 else None)
            _write(full, targets, value, taints, low)
        case "read":
            taints |= low.read(posix_word(targets[0], low.home)).taints if targets else NOTHING
        case "list":
            # What is listed may be removed by the next command: a listing of a tree stands for the tree.
            if targets and targets[0].text.lower().rstrip("\\/*") == "env:":
                return Flow(None, taints | {"env", "secret"}, dump=True)
            return Flow(None, taints, tuple(targets) or (Word("."),), tree=_recurses(named))
        case "move":
            low.run(
                (Word("mv" if full != "copy-item" else "cp"), *(posix_word(word, low.home) for word in positional[:2])),
                via=full,
            )
        case "download":
            return _transfer(named, targets, incoming, taints, low)
        case "code":
            _run_code(full, positional, incoming, taints, low)
        case "start":
            _start(named, positional, low)
        case "effect":
            low.emit(
                spec.kind, targets[0].text if targets else full, rule=spec.rule, reason=spec.reason, wide=spec.wide
            )
        case "send":
            _mail(full, named, taints, low)
        case "source":
            source = (
                named.get("typedefinition") or named.get("memberdefinition") or (positional[0] if positional else None)
            )
            if source is not None:
                low.code("csharp", source, via=full)
        case "none":
            pass
    passed = incoming if incoming and spec.does == "none" else Flow()
    return Flow(passed.text, taints, passed.paths, passed.tree, passed.dump)


def _delete(targets: list[Word], low: Lowering, *, tree: bool, forced: bool) -> None:
    for word in targets:
        if _is_registry(word):
            low.emit("system", word.text, rule="registry-delete", reason="Keys of the registry are removed")
        elif not word.text.lower().startswith(("variable:", "alias:", "function:", "env:")):
            low.delete(posix_word(word, low.home), recursive=tree, forced=forced)


def _write(full: str, targets: list[Word], value: Word | None, taints: frozenset[str], low: Lowering) -> None:
    emptied = full == "clear-content" or (full == "set-content" and value is not None and not value.text)
    for word in targets[:1]:
        if _is_registry(word):
            low.emit("persistence", word.text, rule="registry-add", reason="The registry is changed")
        else:
            content = Stream(None, taints)
            low.write(posix_word(word, low.home), content, append=full == "add-content", emptied=emptied)


def _transfer(
    named: dict[str, Word], targets: list[Word], incoming: Flow | None, taints: frozenset[str], low: Lowering
) -> Flow:
    """Something is fetched, or sent by what the request carries."""
    sends = "body" in named or "infile" in named or "form" in named or incoming is not None
    address = targets[0].text if targets else UNKNOWN
    if "infile" in named:
        taints |= low.read(posix_word(named["infile"], low.home)).taints
    secret = "secret" in taints or "secret" in named.get("body", Word("")).taints
    if sends or secret:
        # A token of the environment in an address may be meant for that server; in a body it hardly is.
        sure = "env" not in taints or sends
        low.emit(
            "net.upload", address, certainty="proven" if sure else "possible", secret=secret, file="infile" in named
        )
    if not sends:
        low.emit("net.download", address)
    if "outfile" in named:
        low.write(posix_word(named["outfile"], low.home), Stream(None, frozenset({"remote"})))
    return Flow(None, taints | {"remote"})


def _run_code(full: str, positional: list[Word], incoming: Flow | None, taints: frozenset[str], low: Lowering) -> None:
    text = Word(" ".join(word.text for word in positional), taints=taints)
    if not positional:
        known = incoming.text if incoming is not None else None
        text = Word(UNKNOWN if known is None else known, taints=taints)
    low.code("powershell", text, via=full)


def _mail(full: str, named: dict[str, Word], taints: frozenset[str], low: Lowering) -> None:
    content = NOTHING
    for key in ("attachments", "infile", "path"):
        if key in named:
            content |= low.read(posix_word(named[key], low.home)).taints
    low.emit("net.upload", named.get("smtpserver", Word(full)).text, secret="secret" in content | taints,
             file="attachments" in named)  # fmt: skip


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
    rest = positional if "filepath" in named else positional[1:]
    if "argumentlist" in named:
        rest = [named["argumentlist"], *rest]
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
        kept = incoming if incoming and (
            full in CONTAINERS or full.startswith(("where-", "sort-", "select-", "format-", "out-", "convert"))
        ) else Flow()  # fmt: skip
        dump = kept.dump and not full.startswith(("where-", "select-", "out-null"))
        return Flow(kept.text, taints, kept.paths, kept.tree, dump)
    if UNKNOWN in name:
        if taints & {"remote", "decoded"}:
            low.code("powershell", Word(UNKNOWN, taints=taints), via="&")
        return Flow(None, taints)
    verb, dash, _ = full.partition("-")
    if dash and full in HARMLESS:
        return Flow(None, taints)
    if dash and verb in ("remove", "clear", "uninstall", "reset", "revoke", "unregister", "disable", "suspend", "stop"):
        low.emit("system", name, certainty="possible", rule="powershell-remove",
                 reason=f"{name} removes something that may not come back")  # fmt: skip
    elif not dash or not verb.isalpha():
        stream = Stream(None, incoming.taints) if incoming is not None else None
        low.run((Word(name), *args), via="powershell", stdin=stream)
    return Flow(None, taints)


def _is_registry(word: Word) -> bool:
    return word.text.lower().startswith(("hklm:", "hkcu:", "hkcr:", "hku:", "hkcc:", "registry::"))


def _static(compact: str, given: list[str], low: Lowering, taints: frozenset[str]) -> Flow:
    """Calls into .NET: `[IO.Directory]::Delete('C:\\', $true)`."""
    kind, _, method = compact.partition("]::")
    method = method.partition(UNKNOWN)[0].partition("(")[0]
    places = [posix_word(Word(text, quoted=True), low.home) for text in given] or [Word(UNKNOWN)]
    if kind.endswith(("file", "directory", "fileinfo", "directoryinfo", "filesystem")):
        whole = "directory" in kind or "directory" in method
        if method.startswith("delete"):
            low.delete(places[0], recursive=whole, forced=whole)
        elif method.startswith(("read", "open")):
            return Flow(None, taints | low.read(places[0]).taints)
        elif method.startswith(("write", "append", "create", "set")):
            low.write(places[0], Stream(None, taints), append=method.startswith("append"))
        elif method.startswith(("move", "copy", "replace")):
            low.run((Word("mv" if method.startswith("move") else "cp"), *places[:2]), via="powershell")
    elif kind.endswith("process") and method.startswith("start"):
        words = [part for index, text in enumerate(given) for part in (text.split() if index else [text])]
        low.run(tuple(Word(word) for word in words), via="Process.Start")
    elif kind.endswith("environment"):
        if method.startswith("getenvironmentvariables"):
            return Flow(None, taints | {"env", "secret"}, dump=True)
        if method.startswith("setenvironmentvariable") and any(text in ("Machine", "User") for text in given):
            low.emit("persistence", given[0] if given else UNKNOWN, rule="environment-set",
                     reason="A variable is set for everything that starts later")  # fmt: skip
    elif "assembly" in kind and method.startswith("load"):
        low.emit("opaque", kind, certainty="possible", rule="assembly-load", reason="Loads a program that is not shown")
    elif "frombase64string" in compact:
        text = next((decoded for word in given if (decoded := plain_text_of(word))), None)
        return Flow(text, taints | (NOTHING if text else {"decoded"}))
    elif "sockets.tcpclient" in compact:
        taints |= {"remote"}
    return Flow(None, taints)


def _url(words: tuple[Term, ...]) -> str:
    for word in words:
        for text in (word.text, *(term.text for pipeline in word.inner for command in pipeline for term in command)):
            if "://" in text:
                return text
    return UNKNOWN
