"""Finding files, and what finders do with what they find."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from interpose.effects.agents.known_agents import IN_HOME, IN_PROJECTS
from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import UNKNOWN, Invocation, Lowering, Stream, Word
from interpose.effects.programs.files.deletion import TREE
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.streams import informs

_ARGUMENTS = dict.fromkeys(
    words(
        "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype -size -mtime "
        "-atime -ctime -mmin -amin -cmin -newer -anewer -cnewer -perm -user -group -uid -gid -links -inum -samefile "
        "-fstype -maxdepth -mindepth -regextype -printf -fprint -fprint0 -fls -used -context -files0-from -flags -acl "
        "-Bmin -Btime -Bnewer -since"
    ),
    1,
) | {"-fprintf": 2}
_NARROWING = words("-regex -iregex -lname -ilname -empty -samefile -inum -false")
_WITHOUT_EFFECT = words(
    "-type -maxdepth -mindepth -regextype -fstype -xdev -mount -depth -d -daystart -follow -noleaf -true -print "
    "-print0 -printf -ls -fprint -fprint0 -fls -fprintf -ignore_readdir_race -noignore_readdir_race -warn -nowarn -X "
    "-readable -writable -context -files0-from -prune -quit -exec -execdir -ok -okdir -delete"
)
_NAMES = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename"})
_EVERY_NAME = frozenset({"*", "*.*", ".*", "**", "./*", "?*", "*/*", "./**", ""})
_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_PATHS = words("-path -ipath -wholename -iwholename -regex -iregex")
_GUARDED = ("interpose", *sorted(IN_PROJECTS), *sorted(place for place in IN_HOME if "/" in place))
"""Parts of paths under which an agent's settings lie, or what is ours."""
_READERS = words(
    """
    awk basename bat cat cksum cp dirname du echo egrep fgrep file gawk grep head jq ls md5sum nl od printf readlink
    realpath rg sed sha256sum shasum stat strings tail test wc xxd
    """
)
"""Programs that read what they are given, or whose handlers say what they do to it."""
_WRITES = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})


MAX_WORDS = 5000
MAX_RUNS = 16
"""How many words one command gets, and how often it is run, before we give up on it."""


class Reached(Struct, frozen=True):
    """What reaches an action: everything below the start, or only what some test lets through."""

    narrow: bool = False
    """Only files of some sort: by name, by path, or empty ones."""
    partial: bool = False
    """Not everything, but files of any sort: by age, by size, by owner."""
    patterns: tuple[str, ...] = ()
    empty: bool = False
    """Only what has no content, so that nothing is lost with it."""


class ExpressionFrame(Struct):
    """One level of parentheses while an expression is read from left to right."""

    branch: Reached
    others: list[Reached]
    negated: bool = False


class FindAction(Struct, frozen=True):
    """Something find does with what reached it."""

    name: str
    words: tuple[Word, ...]
    found: Reached


@command("find", "gfind", "bfs")
def find(inv: Invocation, low: Lowering) -> None:
    starts, expression = _starts(inv.args)
    if any(word.text in ("--help", "-help", "--version", "-version") for word in (*starts, *expression[:1])):
        return
    starts = starts or [Word(".")]
    actions = _actions(expression)
    for action in actions:
        if action.name == "-delete":
            for start in starts:
                _delete(start, action.found, low)
        elif action.name in _WRITES and action.words:
            low.write(action.words[0])
        elif action.name in _EXEC:
            _execute(action, starts, low)
        elif action.name in ("-printf", "-ls"):
            for word in [word for start in starts for word in words_found(start, action.found)]:
                low.list_names(word, below=TREE in word.taints)
    _state_aimed(expression, actions, low)
    if any(action.name == "-print0" for action in actions):
        low.output(_listing(starts, actions, "\0"))
    elif not any(action.name in ("-printf", "-ls") or action.name in _EXEC for action in actions):
        low.output(_listing(starts, actions, "\n"))


def _state_aimed(expression: Sequence[Word], actions: list[FindAction], low: Lowering) -> None:
    """A path that is searched for names what guards an agent, and what is found is changed by something."""
    changing = any(action.name == "-delete" or (action.name in _EXEC and _changes(action.words)) for action in actions)
    before = ""
    for index, word in enumerate(expression if changing else ()):
        texts = [each.text for each in expression[index : index + 3]]
        kept = before in ("!", "-not") or texts[2:] == ["-prune"]
        if texts[0] in _PATHS and len(texts) > 1 and not kept and any(name in texts[1].lower() for name in _GUARDED):
            low.emit("guard.tamper", texts[1], certainty="possible", at=word, rule="guarded-place",
                     reason="Changes what it finds where an agent's settings or the guard itself lie")  # fmt: skip
            return
        before = texts[0]


def _changes(given: tuple[Word, ...]) -> bool:
    program = given[0].text.rpartition("/")[2] if given else ""
    in_place = any(word.text.startswith(("-i", "--in-place")) for word in given)
    return program != "" and (program not in _READERS or (program in ("awk", "gawk", "sed") and in_place))


def _starts(args: tuple[Word, ...]) -> tuple[list[Word], tuple[Word, ...]]:
    starts: list[Word] = []
    index = 0
    while index < len(args):
        text = args[index].text
        if text in words("-H -L -P -E -X -s -x -d") or text.startswith("-O"):
            index += 1
        elif text == "-D" or (text == "-f" and index + 1 < len(args)):
            if text == "-f":
                starts.append(args[index + 1])
            index += 2
        elif text == "--":
            index += 1
        elif text in ("(", "!", ")", ",") or (text.startswith("-") and len(text) > 1):
            break
        else:
            starts.append(args[index])
            index += 1
    return starts, args[index:]


def _actions(expression: Sequence[Word]) -> list[FindAction]:
    """The actions of an expression, each with what reaches it. Tests behind an action do not protect it."""
    actions: list[FindAction] = []
    frames = [ExpressionFrame(Reached(), [])]
    index = 0
    while index < len(expression):
        text = expression[index].text
        frame = frames[-1]
        index += 1
        if text in ("(", r"\("):
            frames.append(ExpressionFrame(Reached(), []))
        elif text in (")", r"\)"):
            if len(frames) > 1:
                group = _either([*frames.pop().others, frame.branch])
                outer = frames[-1]
                outer.branch = outer.branch if outer.negated else _both(outer.branch, group)
                outer.negated = False
        elif text in ("-o", "-or", ","):
            frame.others.append(frame.branch)
            frame.branch = Reached()
        elif text in ("!", "-not"):
            frame.negated = not frame.negated
        elif text in ("-a", "-and"):
            continue
        elif text in _EXEC:
            end = _end_of_exec(expression, index)
            actions.append(FindAction(text, tuple(expression[index:end]), _reaching(frames)))
            index = end + 1
        else:
            count = 1 if text.startswith("-newer") else _ARGUMENTS.get(text, 0)
            values = tuple(expression[index : index + count])
            index += count
            if text in _WRITES or text in ("-delete", "-print", "-print0", "-printf", "-ls"):
                actions.append(FindAction(text, values, _reaching(frames)))
            elif not frame.negated:
                frame.branch = _both(frame.branch, _test(text, values))
            frame.negated = False
    if not any(action.name != "-delete" for action in actions):
        actions.append(FindAction("-print-found", (), _either([*frames[0].others, frames[0].branch])))
    return actions


def _end_of_exec(expression: Sequence[Word], index: int) -> int:
    while index < len(expression):
        text = expression[index].text
        if text in (";", r"\;") or (text == "+" and expression[index - 1].text == "{}"):
            return index
        index += 1
    return index


def _test(name: str, values: tuple[Word, ...]) -> Reached:
    if name in _NAMES and values:
        pattern = values[0].text
        return Reached() if pattern in _EVERY_NAME else Reached(narrow=True, patterns=(pattern,))
    if name in ("-type", "-xtype") and values:
        return Reached(narrow=not set(values[0].text) & {"f", "d", ","} or name == "-xtype")
    return Reached(narrow=name in _NARROWING, partial=name not in _WITHOUT_EFFECT, empty=name == "-empty")


def _both(first: Reached, second: Reached) -> Reached:
    return Reached(
        first.narrow or second.narrow,
        first.partial or second.partial,
        first.patterns or second.patterns,
        first.empty or second.empty,
    )


def _either(branches: list[Reached]) -> Reached:
    patterns = tuple(pattern for branch in branches for pattern in branch.patterns)
    return Reached(
        all(branch.narrow for branch in branches),
        all(branch.partial or branch.narrow for branch in branches),
        patterns if all(branch.patterns for branch in branches) else (),
        all(branch.empty for branch in branches),
    )


def _reaching(frames: list[ExpressionFrame]) -> Reached:
    found = Reached()
    for frame in frames:
        found = _both(found, frame.branch)
    return found


def _delete(start: Word, found: Reached, low: Lowering) -> None:
    if not found.patterns:
        low.delete(start, recursive=True, narrow=found.narrow, partial=found.partial, recoverable=found.empty)
        return
    for pattern in found.patterns:
        path = Word(_below(start.text.rstrip("/"), pattern), start.span, _is_wild(pattern), taints=start.taints)
        low.delete(path, recursive=True, narrow=True, partial=found.partial, recoverable=found.empty)


def words_found(start: Word, found: Reached) -> tuple[Word, ...]:
    """The words that stand for what was found below `start`: the start itself when nothing narrows it down."""
    taints = start.taints | {"output"}
    if not found.narrow:
        return (Word(start.text, start.span, start.glob, start.quoted, taints | {TREE}),)
    base = start.text.rstrip("/")
    if not found.patterns:
        return (Word(f"{base}/{UNKNOWN}", start.span, start.glob, start.quoted, taints),)
    return tuple(
        Word(_below(base, pattern), start.span, _is_wild(pattern), taints=taints) for pattern in found.patterns
    )


def _is_wild(pattern: str) -> bool:
    return not {"*", "?", "["}.isdisjoint(pattern)


def _below(base: str, pattern: str) -> str:
    name = pattern.removeprefix("*/").removeprefix("./")
    if name.startswith(f"{base}/"):
        name = name[len(base) + 1 :]
    return f"{base}/{name}"


def _listing(starts: list[Word], actions: list[FindAction], separator: str) -> Stream:
    """What find prints, as far as it is known: where each line begins and how it ends."""
    lines: list[str] = []
    taints = {"output"}
    for action in actions:
        if not action.name.startswith("-print"):
            continue
        for start in starts:
            for word in words_found(start, action.found):
                lines.append(word.text.replace("*", UNKNOWN).replace("?", UNKNOWN))
                taints |= word.taints
    text = "".join(line + separator for line in lines)
    return Stream(text, frozenset(taints))


def _execute(action: FindAction, starts: list[Word], low: Lowering) -> None:
    """Run an action's command: once with all that was found, or for each when the braces stand inside a word."""
    found = [word for start in starts for word in words_found(start, action.found)]
    places = [word for word in action.words if "{}" in word.text]
    inside = any(word.text != "{}" for word in places)
    if len(found) * len(places) > MAX_WORDS or (inside and len(found) > MAX_RUNS):
        low.emit("opaque", f"find {action.name}", certainty="unknown",
                 reason="find runs a command on more places than are looked at")  # fmt: skip
        return
    for batch in [[word] for word in found] if inside else [found]:
        low.run(_filled(action.words, batch), via=f"find {action.name}")


def _filled(template: tuple[Word, ...], found: list[Word]) -> tuple[Word, ...]:
    filled: list[Word] = []
    for word in template:
        if word.text == "{}":
            filled.extend(found)
        elif "{}" in word.text:
            text = word.text.replace("{}", found[0].text)
            filled.append(Word(text, word.span, word.glob, word.quoted, word.taints | found[0].taints))
        else:
            filled.append(word)
    return tuple(filled)


_FD_VALUES = words(
    """
    -d -t -e -E -S -c -j -o --max-depth --min-depth --exact-depth --type --extension --exclude --size --color
    --threads --owner --changed-within --changed-before --base-directory --search-path --path-separator
    --ignore-file --max-results --format --batch-size --and --newer --older -C
    """
)
_FD_EXEC = ("-x", "--exec", "-X", "--exec-batch")


def _as_glob(pattern: str) -> str:
    """A pattern of fd as one of `find -name`: it is found anywhere in a name unless it says where."""
    start, end = "" if pattern.startswith("^") else "*", "" if pattern.endswith("$") else "*"
    plain = pattern.removeprefix("^").removesuffix("$").replace(".*", "*").replace("\\.", ".")
    return f"{start}{plain}{end}" if not set("()[]{}|+?\\") & set(plain) else "*"


@command("fd", "fdfind")
def fd(inv: Invocation, low: Lowering) -> None:
    split = next(
        (at for at, word in enumerate(inv.args) if word.text in _FD_EXEC or word.text.startswith("--exec=")), None
    )
    own = inv.args if split is None else inv.args[:split]
    rest = () if split is None else inv.args[split + 1 :]
    end = next((at for at, word in enumerate(rest) if word.text == ";"), len(rest))
    opts = parse((*own, *rest[end + 1 :]), values=_FD_VALUES, long=("--help", "--version"))
    if informs(opts) or opts.has("-h", "-V"):
        return
    base = opts.value("--base-directory", "--search-path", "-C")
    pattern = opts.word(0)
    starts = list(opts.operands[1:]) or [base or Word(".")]
    suffix = opts.value("-e", "--extension")
    if suffix is not None:
        found = Reached(narrow=True, patterns=(f"*.{suffix.text.lstrip('.')}",))
    else:
        narrow = pattern not in ("", ".", ".*", "*", "^", "$")
        found = Reached(narrow=narrow, patterns=(_as_glob(pattern),) if narrow else ())
    if split is None:
        low.output(_listing(starts, [FindAction("-print", (), found)], "\0" if opts.has("-0", "--print0") else "\n"))
        return
    command_words = rest[:end]
    if not any("{" in word.text for word in command_words):
        command_words = (*command_words, Word("{}"))
    plain = tuple(
        Word(
            "{}" if word.text in ("{}", "{/}", "{//}", "{.}", "{/.}") else word.text,
            word.span,
            word.glob,
            word.quoted,
            word.taints,
        )
        for word in command_words
    )
    _execute(FindAction("-exec", plain, found), starts, low)


@command("updatedb")
def updatedb(_inv: Invocation, _low: Lowering) -> None:
    """It rebuilds an index."""
