"""What programs run besides what they are for: the options that carry code, and the files that run by convention.

A row says under which options of a program a command line, a program text or a file with one stands, which verbs are
followed by a command, and which files it runs when they are there. It holds beside what the program's own handler says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from interpose.effects.invocation import UNKNOWN, Invocation, Lowering, Stream, Word
from interpose.effects.paths import secret_of
from interpose.effects.programs.shared.forges import is_usual_source

_LIBRARIES = ("/usr/lib", "/lib", "/usr/local/lib", "/opt/homebrew/lib", "/Library")
"""Where the libraries of the system lie, which are loaded all the time."""
_SHELLS = frozenset({"bash", "sh"})
_DEEPEST = 4
"""Through so many wrappers files are still looked for that run by convention."""


class Carrier(Struct, frozen=True, kw_only=True):
    """How one program is given code. Options are told apart by their spelling alone."""

    code: Mapping[str, str] = {}
    """Options whose value is program text, and its language.

    `sh`: a command line; `commas`: its words; `pipe`: one only if `|` or `!` stands in front, else a file.
    """
    files: Mapping[str, str] = {}
    """Options whose value is a file that is run, and its language."""
    words: tuple[str, ...] = ()
    """Options and verbs behind which the words of a command stand, to the end."""
    skips: Mapping[str, int] = {}
    """The same, with so many operands in between (`ip netns exec NAME command`)."""
    starts: tuple[str, ...] = ()
    """Verbs behind which a program stands, whose arguments come behind `--`."""
    keys: tuple[str, ...] = ()
    """Settings (`-o key=value`, `-okey=value`, `key value`) whose value is a command line, by the end of their key."""
    fetches: tuple[str, ...] = ()
    """Options and verbs that take the address of code which is then run, or of settings that say what is."""
    clones: tuple[str, ...] = ()
    """Verbs that bring a repository here."""
    loads: tuple[str, ...] = ()
    """Options whose value is a library or a plugin that is loaded."""
    operand: str = ""
    """The language of files given as operands, where this text wrote them."""
    texts: str = ""
    """The language of arguments that are, or may hold, program text."""
    stdin: str = ""
    """The language of what flows in; `orders`: only lines that begin with one of `escapes`."""
    escapes: tuple[str, ...] = ("!",)
    reads: Mapping[str, str] | None = None
    """Whatever file is given is shown, by whichever option; and words that stand for a file."""
    imports: Mapping[str, str] = {}
    """The same for files that a program of that language may load."""
    sends: frozenset[str] | None = None
    """Verbs under which the files given are sent to somebody; an empty one: always."""
    written: Mapping[str, str] = {}
    """Files that are run because of their names, where this text wrote them; patterns, and the language."""


def state_carried(spec: Carrier, inv: Invocation, low: Lowering) -> None:
    """State what the program runs besides what it is for."""
    for name, value in _given(inv.args, spec):
        if name in spec.code:
            run_text(spec.code[name], value, inv.name, low)
        elif name in spec.files:
            _run_file(value, spec.files[name], inv, low)
        elif not value.text.startswith(_LIBRARIES):
            low.emit("opaque", value.text, certainty="possible", at=value, rule="loaded-code",
                     reason=f"{name} loads code that this command does not show")  # fmt: skip
    if spec.keys:
        for value in _settings(inv.args, spec.keys):
            low.shell(value, via=inv.name)
    _run_words(spec, inv, low)
    _run_operands(spec, inv, low)
    if spec.reads is not None:
        _read(spec.reads, inv, low)
    if spec.sends is not None:
        _send(spec.sends, inv, low)
    if spec.stdin and inv.stdin is not None:
        _run_input(spec, inv.stdin, inv, low)
    _state_fetched(spec, inv, low)
    if spec.clones:
        _state_clone(spec, inv, low)
    if inv.name not in low.via and len(low.via) <= _DEEPEST:  # else a script calls the tool which runs it
        _run_written(spec, inv, low)


def _run_written(spec: Carrier, inv: Invocation, low: Lowering) -> None:
    if not (spec.written or spec.imports) or not low.written("*"):
        return  # most texts write nothing
    if spec.written:
        _state_cloned(inv, low)
    for names, language in spec.written.items():
        for content in low.written(*names.split()):
            for each in language.split():
                low.suspect(content, via=inv.name, language=each, certain=True)
    main = low.known(inv.args[0]) if spec.imports and inv.args and inv.args[0].text[:1] != "-" else None
    for names, language in spec.imports.items():
        for content in low.written(*names.split()):
            if content is not main:  # which runs in any case, and is read only once
                low.suspect(content, via=inv.name, language=language)


def _run_operands(spec: Carrier, inv: Invocation, low: Lowering) -> None:
    for word in inv.args if spec.operand or spec.texts else ():
        if spec.texts and not _says_nothing(word):
            run_text(spec.texts, word, inv.name, low)
        if spec.operand and word.text[:1] != "-" and (content := low.known(word)) is not None:
            run_text(spec.operand, content, inv.name, low)


def _says_nothing(word: Word) -> bool:
    """Nothing of it is known. Among arguments of which few are code, that is the name of a picture or of a machine."""
    return not word.text.replace(UNKNOWN, "").strip() and word.taints.isdisjoint(("remote", "decoded"))


def _read(names: Mapping[str, str], inv: Invocation, low: Lowering) -> None:
    for word in inv.args:
        for part in word.text.partition("=")[2].split() if word.text[:1] == "-" else word.text.split():
            path = names.get(part, part)
            if "://" not in path and secret_of(low.path(path), low.home) is not None:
                low.read(replace(word, text=path))


def _send(verbs: frozenset[str], inv: Invocation, low: Lowering) -> None:
    """Secrets among the files that are sent: as they stand, behind `@`, as the value of an option, or piped in."""
    if "" not in verbs and not any(word.text in verbs for word in inv.args[:4]):
        return
    taints = inv.stdin.taints if inv.stdin is not None else frozenset()
    for word in inv.args:
        text = word.text.partition("=")[2] if word.text[:1] == "-" else word.text
        text = text.rpartition("@")[2] if "=@" in text or text.startswith("@") else text
        if text and text not in verbs and "://" not in text and secret_of(low.path(text), low.home) is not None:
            taints |= low.read(replace(word, text=text)).taints
    if "secret" in taints:
        low.emit("net.upload", inv.name, secret=True)


def _state_cloned(inv: Invocation, low: Lowering) -> None:
    """What lies in a directory that was just cloned from nobody knows where is built, installed or tested."""
    for place in (Word("."), *(word for word in inv.args if word.text[:1] != "-")):
        tree = low.known(place)
        if tree is not None and "cloned" in tree.taints:
            low.emit("package.install", low.path(place), foreign=True)
            return


def _state_fetched(spec: Carrier, inv: Invocation, low: Lowering) -> None:
    if not spec.fetches:
        return
    named = inv.name in spec.fetches or any(word.text in spec.fetches for word in inv.args[:3] if word.text[:1] != "-")
    for before, word in zip((inv.argv0, *inv.args), inv.args, strict=False):
        option, _, value = word.text.partition("=")
        text = value if option in spec.fetches else word.text
        if _is_address(text) and (named or before.text in spec.fetches or option in spec.fetches):
            low.emit("package.install", text, at=word, foreign=True)
            return


def _state_clone(spec: Carrier, inv: Invocation, low: Lowering) -> None:
    """A copy of a repository that nobody knows: what lies in it is not the project's own."""
    verb = next((index for index, word in enumerate(inv.args[:4]) if word.text in spec.clones), None)
    if verb is None:
        return
    operands = [word for word in inv.args[verb + 1 :] if word.text[:1] != "-"]
    if operands and _is_address(operands[0].text):
        name = operands[0].text.rstrip("/").rpartition("/")[2]
        place = operands[1] if len(operands) > 1 else replace(operands[0], text=name)
        low.write(place, Stream(None, frozenset({"cloned"})), directory=True)


def _is_address(text: str) -> bool:
    return "://" in text and not text.startswith("file:") and not is_usual_source(text.removeprefix("git+"))


def run_text(language: str, text: Word | Stream, via: str, low: Lowering) -> None:
    """Run a program text of a language, if it is known or comes from elsewhere."""
    for each in language.split():
        if each in _SHELLS:
            low.shell(_without_escape(text), via=via)
        elif each == "pipe":
            if text.text is not None and text.text.lstrip()[:1] in ("|", "!"):
                low.shell(replace(text, text=text.text.lstrip()[1:]), via=via)
        elif each == "commas" and isinstance(text, Word):
            low.run(tuple(replace(text, text=part) for part in text.text.split(",")), via=via)
        elif isinstance(text, Word) or text.text is not None or not text.taints.isdisjoint(("remote", "decoded")):
            low.code(each, text, via=via)


def _without_escape(text: Word | Stream) -> Word | Stream:
    """`!command` is how many programs spell a command for the shell."""
    return replace(text, text=text.text[1:]) if text.text is not None and text.text.startswith("!") else text


def _run_file(path: Word, language: str, inv: Invocation, low: Lowering) -> None:
    content = inv.stdin if path.text == "-" else low.known(path)
    if content is not None:
        run_text(language, content, inv.name, low)
    elif language != "manifest" and path.text.startswith(("http://", "https://", "ftp://")):
        low.emit("code.remote", path.text, at=path)


def _given(args: tuple[Word, ...], spec: Carrier) -> Iterator[tuple[str, Word]]:
    """The options of the row that were given, with their values: `-x v`, `-xv`, `--long v`, `--long=v`."""
    names = (*spec.code, *spec.files, *spec.loads)
    if not names:
        return
    for index, word in enumerate(args):
        text = word.text
        for name in names:
            if text == name:
                if index + 1 < len(args):
                    yield name, args[index + 1]
            elif text.startswith(name) and (text[len(name)] in "=:" or (len(name) == 2 and name[1] not in "-+")):
                yield name, replace(word, text=text[len(name) :].lstrip("=:" if len(name) > 2 else "="))
            else:
                continue
            break


def _settings(args: tuple[Word, ...], keys: tuple[str, ...]) -> Iterator[Word]:
    for word in args:
        key, equals, value = word.text.partition("=")
        if key.startswith("--") and "=" in value:
            key, equals, value = value.partition("=")
        if not equals:
            key, equals, value = word.text.partition(" ")
        if equals and value and key.lower().rstrip(":").endswith(keys):
            # CMake's lists have semicolons between their words.
            yield replace(word, text=value.lstrip("!") if " " in value else value.replace(";", " "))


def _run_words(spec: Carrier, inv: Invocation, low: Lowering) -> None:
    if not spec.words and not spec.skips and not spec.starts:
        return
    for index, word in enumerate(inv.args):
        if word.text in spec.starts:
            _start(inv.args[index + 1 :], inv, low)
            return
        if word.text in spec.words:
            _run_rest(inv.args[index + 1 :], 0, inv, low)
            return
        if word.text in spec.skips:
            _run_rest(inv.args[index + 1 :], spec.skips[word.text], inv, low)
            return


def _start(rest: tuple[Word, ...], inv: Invocation, low: Lowering) -> None:
    """`start program --name x -- arguments`: a script has a suffix, a program has none."""
    texts = [word.text for word in rest]
    if "--" in texts and "." not in texts[0] and texts[0][:1] != "-":
        low.run((rest[0], *rest[texts.index("--") + 1 :]), via=inv.name)


def _run_rest(rest: tuple[Word, ...], skip: int, inv: Invocation, low: Lowering) -> None:
    """Run the words of a command behind options and `skip` operands; what stands behind `--` is it for sure."""
    texts = [word.text for word in rest]
    if "--" in texts:
        inner = rest[texts.index("--") + 1 :]
    else:
        start = 0
        while start < len(rest) and (skip or texts[start][:1] == "-"):
            skip -= texts[start][:1] != "-"
            start += 1
        inner = rest[start:]
    if len(inner) == 1 and " " in inner[0].text:
        low.shell(inner[0], via=inv.name)
    elif inner and inner[0].text != UNKNOWN:
        low.run(inner, via=inv.name)


def _run_input(spec: Carrier, stdin: Stream, inv: Invocation, low: Lowering) -> None:
    if spec.stdin != "orders":
        run_text(spec.stdin, stdin, inv.name, low)
    elif stdin.text is None:
        if "remote" in stdin.taints:
            low.shell(stdin, via=inv.name)
    else:
        for line in stdin.text.splitlines():
            for escape in spec.escapes:
                if line.lstrip().startswith(escape):
                    low.shell(line.lstrip()[len(escape) :], via=inv.name)
                    break
