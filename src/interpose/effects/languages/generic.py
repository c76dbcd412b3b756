"""Languages without a parser here: calls with constant arguments are found, computed ones are stated as not known."""

from __future__ import annotations

from msgspec import Struct

from interpose.effects.invocation import NOTHING, UNKNOWN, Lowering, Stream, Word
from interpose.effects.languages.generic_tables import (
    AUTHORIZED,
    DELETED_CALLS,
    DUMPS,
    FORK_BOMBS,
    NETWORK,
    SEARCHES,
    SENDERS,
    STRONG_SENDERS,
    TABLES,
    WALKS,
    Action,
)
from interpose.effects.languages.generic_values import (
    ENVIRONMENTS,
    Names,
    argument,
    arguments,
    end_of_call,
    learn,
    no_names,
)
from interpose.effects.languages.program_values import (
    NOT_KNOWN,
    ProgramValue,
    download,
    run_list,
    run_shell,
    sql_beside,
    text_value,
)
from interpose.effects.languages.tokens import TOKENS, ProgramToken, TokenRules, tokens
from interpose.effects.paths import secret_of
from interpose.effects.secret_names import is_secret_name

_PERL = TokenRules(quote_words=("q", "qq", "qx", "qw"), regexes=True, angles=True)
_RUBY = TokenRules(quote_words=("%x",), holes=("#{",), regexes=True)
_PHP = TokenRules(comments=("#", "//"), holes=("$", "{$"))
_LUA = TokenRules(comments=("--",), backticks=False, holes=(), long_brackets=True)
_R = TokenRules(backticks=False, holes=())
_JULIA = TokenRules(holes=("$",), joiners=("::", "."))
_GROOVY = TokenRules(comments=("//",), backticks=False, holes=("$",))
_PYTHON = TokenRules(backticks=False, holes=())
_CALL_STEPS = 2
"""What it takes to read the arguments of one call."""
_LOOK_BACK = 16
"""How far before a method the thing stands that it is a method of."""


class Scan(Struct):
    """A program while it is read."""

    found: list[ProgramToken]
    table: dict[str, Action]
    low: Lowering
    via: str
    names: Names
    searched: list[ProgramValue]
    waiting: list[Action]
    symbols: bool = False
    """`:system` is a value."""
    """Deletions of what a search finds that is only named later."""
    seen: bool = False
    ran: bool = False
    computed: bool = False
    secret: frozenset[str] = NOTHING
    """What kind of secret was read: `file`, `env`."""
    sends: bool = False
    sending_until: int = 0
    sent: bool = False


def perl(code: str, low: Lowering, via: str) -> None:
    scan(code, low, via, "perl", _PERL)


def ruby(code: str, low: Lowering, via: str) -> None:
    scan(code, low, via, "ruby", _RUBY)


def php(code: str, low: Lowering, via: str) -> None:
    scan(code, low, via, "php", _PHP)


def lua(code: str, low: Lowering, via: str) -> None:
    scan(code, low, via, "lua", _LUA)


def r(code: str, low: Lowering, via: str) -> None:
    scan(code, low, via, "r", _R)


def julia(code: str, low: Lowering, via: str) -> None:
    scan(code, low, via, "julia", _JULIA)


def groovy(code: str, low: Lowering, via: str) -> None:
    scan(code, low, via, "groovy", _GROOVY)


def python(code: str, low: Lowering, via: str) -> None:
    """Python that Python 3 cannot parse: the old dialect, or broken."""
    found = scan(code, low, via, "python", _PYTHON)
    if not found:
        unparsed(low, via)


def unparsed(low: Lowering, via: str) -> None:
    """A program that is not one of its language: it does nothing, or something that we do not see."""
    low.emit("opaque", via, certainty="unknown", rule="unparsed", unreadable=True,
             reason="The program could not be parsed, so what it does is not known")  # fmt: skip


def scan(code: str, low: Lowering, via: str, language: str, syntax: TokenRules) -> bool:
    """State what the calls of a program do. Whether there was any."""
    found = tokens(code, syntax)
    low.spend(len(found) // TOKENS)
    program = Scan(found, TABLES[language], low, via, no_names(), [], [], language == "ruby")
    for index, token in enumerate(found):
        match token.kind:
            case "command":
                program.seen = program.ran = True
                _note_secret(program, index, token.text)
                run_shell(text_value(token.text), low, via)
            case "string":
                _constant(program, index)
            case "name":
                _name(program, index)
            case "mark" if token.text == "(" and index:
                before = found[index - 1]
                program.computed = program.computed or before.kind == "string" or before.text in (")", "]", "}")
    _finish(program, code)
    words = code.split(None, 2)
    if (
        not program.seen
        and len(words) > 1
        and words[0].isidentifier()
        and words[1][:1] == "-"
        and words[1][1:2].isalpha()
    ):
        # Not a program of this language but a shell command by mistake: what it would do is what was meant.
        low.shell(code, via=via)
    return program.seen


def _finish(program: Scan, code: str) -> None:
    low, via = program.low, program.via
    for action in program.waiting:
        _delete(action, program.searched or [NOT_KNOWN], low)
    if {token.text for token in program.found if token.kind == "name"} & NETWORK and program.ran:
        low.emit("code.remote", via, rule="reverse-shell", wide=True,
                 reason="This hands control of a shell to somebody on the network")  # fmt: skip
    compact = "".join(code.split())
    if any(bomb in compact for bomb in FORK_BOMBS):
        low.emit("system", "processes", rule="fork-bomb", wide=True,
                 reason="Processes that start processes without end bring the machine down")  # fmt: skip
    if program.sends and program.secret and not program.sent:
        login = "file" not in program.secret and any(mark in code.lower() for mark in AUTHORIZED)
        if not login:
            low.emit("net.upload", _address(program), certainty="possible", secret=True)
    if program.computed:
        low.emit("opaque", via, certainty="possible", rule="computed-call", recoverable=True,
                 reason="Calls something by a name that only shows when it runs")  # fmt: skip


def _address(program: Scan) -> str:
    return next((token.text for token in program.found if token.kind == "string" and "://" in token.text), UNKNOWN)


def _constant(program: Scan, index: int) -> None:
    found, text = program.found, program.found[index].text
    if [part.text for part in found[index + 1 : index + 3]] == [".", "execute"]:
        program.seen = program.ran = True
        run_shell(text_value(text), program.low, "execute")
        return
    names = (token.text for token in found[max(0, index - _LOOK_BACK // 2) : index] if token.kind == "name")
    sql_beside(names, text, program.low)
    if _runs(program.table.get(text)):
        # A function that is named by a text is called in some other way.
        program.computed = True


def _runs(action: Action | None) -> bool:
    return action is not None and action.does in ("shell", "run", "code")


def _name(program: Scan, index: int) -> None:
    found, names = program.found, program.names
    token = found[index]
    text = token.text
    learn(found, index, names)
    before = found[index - 1].text if index else ""
    after = found[index + 1].text if index + 1 < len(found) else ""
    action = _action(program, index, before)
    _sending(program, index)
    if text in ENVIRONMENTS or text.startswith("ENV."):
        _environment(program, index)
    if action is not None and before not in ("def", "sub", "function", "fn"):
        if after not in ("(", "") and _is_value(program, index, before):
            program.computed = True
            if before in ("=", "-", "&", "\\"):
                _alias(program, index, action)
            return
        program.seen = True
        program.ran = program.ran or action.does in ("shell", "run")
        _call(program, index, action)
    elif before == "." and text in ("eachFileRecurse", "eachFile", "eachDir", "each_child", "children"):
        owner = _owner(program, index)
        if owner is not None:
            program.searched.append(ProgramValue(text=owner.text, name="tree"))
    elif text in SEARCHES:
        found_here = [arg for arg in arguments(found, index + 1, names) if arg.known and arg.text]
        walks = text in WALKS or any(part.text == "recursive" for part in found[index : end_of_call(found, index + 1)])
        program.searched.extend(
            ProgramValue(text=arg.text, glob=arg.glob, name="tree" if walks or "**" in arg.text else "")
            for arg in (found_here if walks else found_here[:1])
        )
    elif after == "(" and before == "$":
        program.computed = True


def _sending(program: Scan, index: int) -> None:
    """Whether this name sends something, and how far what it is given reaches."""
    found = program.found
    text = found[index].text
    tail = text.replace("::", ".").replace("->", ".").rpartition(".")[2].lower()
    if tail not in SENDERS and text not in NETWORK and text not in SENDERS:
        return
    end = end_of_call(found, index + 1)
    addressed = any(token.kind == "string" and "://" in token.text for token in found[index + 1 : end])
    if addressed or tail in STRONG_SENDERS or text in NETWORK:
        program.sends = True
        program.sending_until = max(program.sending_until, end)


def _action(program: Scan, index: int, before: str) -> Action | None:
    """What the call at `index` does, by its name, as a method, through an alias or a variable that names it."""
    table, found = program.table, program.found
    name = found[index].text.removeprefix("_G.")
    action = table.get(name)
    if action is None and ("." in name or "::" in name or "->" in name):
        tail = name.replace("::", ".").replace("->", ".").rpartition(".")[2]
        action = table.get("." + tail)
    if action is None and before in (".", ">"):
        action = table.get("." + name)
    if action is None and [part.text for part in found[index + 1 : index + 4 : 2]] == ["[", "]"]:
        action = table.get(f"{name}.{found[index + 2].text}")
    if action is None:
        action = program.names.aliases.get(name)
    if (
        action is None
        and name in program.names.constants
        and found[index + 1 : index + 2] == [ProgramToken("mark", "(")]
    ):
        action = table.get(program.names.constants[name].text)
    return action


def _is_value(program: Scan, index: int, before: str) -> bool:
    """Whether a function is not called here but handed on: `f = os.execute`, `map(os.execute, ...)`, `\\&system`."""
    if (
        before == "\\"
        or (before == ":" and program.symbols)
        or (before == "&" and index > 1 and program.found[index - 2].text == "\\")
    ):
        return True
    following = program.found[index + 1]
    arrow = before == "-" and index > 1 and program.found[index - 2].text == "<"
    ends = following.kind == "mark" and following.text in (",", ")", ";", "\n", "]", "}")
    return ends and (before in ("=", ",", "(") or arrow)


def _alias(program: Scan, index: int, action: Action) -> None:
    for position in range(index - 1, max(-1, index - 6), -1):
        token = program.found[position]
        if token.kind == "name":
            program.names.aliases[token.text] = action
            return


def _call(program: Scan, index: int, action: Action) -> None:
    found, names, low = program.found, program.names, program.low
    low.spend(_CALL_STEPS)
    start = index + 1
    if [part.text for part in found[start : start + 3 : 2]] == ["[", "]"]:
        start += 3
    args = arguments(found, start, names)
    name = found[index].text
    if not args and action.does in ("shell", "run"):
        args = _topic(program, name)
    if action.does == "delete" and action.weak and args:
        return  # `client.delete("/users")` asks a server
    match action.does:
        case "call":
            _indirect(program, index, args)
        case "run" if not args and found[index - 1].text == "." and found[index - 2].text == "]":
            words: list[ProgramValue] = []
            for position in range(index - 3, max(-1, index - _LOOK_BACK), -1):
                if found[position].text == "[":
                    break
                if found[position].kind == "string":
                    words.insert(0, argument([found[position]]))
            run_list(tuple(words), low, name)
        case "delete" if not args or not any(arg.known for arg in args):
            owner = _owner(program, index) if "." in name or found[index - 1].text in (".", ">") else None
            if program.searched:
                _delete(action, program.searched, low)
            elif owner is not None:
                _delete(action, [owner], low)
            else:
                program.waiting.append(action)
        case "read" | "open":
            for arg in args[:3]:
                if arg.known:
                    _note_secret(program, index, arg.text)
            _act(action, name, args, low)
        case _:
            _act(action, name, args, low)


def _topic(program: Scan, name: str) -> list[ProgramValue]:
    """What a call without arguments acts on: perl's `$_`, or the constant that it is a method of."""
    owner = name.rpartition(".")[0] or "_"
    if owner in program.names.lists:
        return list(program.names.lists[owner])
    return [program.names.constants[owner]] if owner in program.names.constants else []


def _owner(program: Scan, index: int) -> ProgramValue | None:
    """The constant that a method is called on: `Pathname.new("/x").rmtree`."""
    for position in range(index - 1, max(-1, index - _LOOK_BACK), -1):
        token = program.found[position]
        if token.kind == "mark" and token.text in (";", "\n", "{", "}"):
            return None
        if token.kind == "string":
            return argument([token])
        if token.kind == "name" and token.text in program.names.constants:
            return program.names.constants[token.text]
    return None


def _indirect(program: Scan, index: int, args: list[ProgramValue]) -> None:
    """`send(:system, ...)`, `call_user_func("system", ...)`: the call that is named runs with what else is given."""
    found = program.found
    for position in range(index + 1, end_of_call(found, index + 1)):
        token = found[position]
        action = program.table.get(token.text) if token.kind in ("string", "name") else None
        if action is not None and action.does != "call":
            rest = [arg for arg in args if arg.known and arg.text != token.text]
            if not rest and (owner := _owner(program, index)) is not None:
                rest = [owner]
            if action.does == "delete" and not rest:
                program.waiting.append(action)
            elif rest or action.does in ("shell", "run"):
                program.ran = program.ran or action.does in ("shell", "run")
                if action.does == "delete" and program.searched:
                    rest = program.searched
                _act(action, token.text, rest or [NOT_KNOWN], program.low)
            return
    program.computed = True


def _environment(program: Scan, index: int) -> None:
    """A variable of the environment is asked for, or all of them."""
    text = program.found[index].text
    after = program.found[index + 1 : index + 4]
    key = next((part.text for part in after if part.kind != "mark"), "") if after and after[0].text in "([{" else ""
    asks = text not in ("ENV", "_ENV", "_SERVER")
    if is_secret_name(key):
        program.secret |= {"env"}
    elif text.rpartition(".")[2] in DUMPS or (
        after[:1] not in ([ProgramToken("mark", "[")], [ProgramToken("mark", "{")], [ProgramToken("mark", "=")])
        and (not asks or [part.text for part in after[:2]] == ["(", ")"])
        and text not in ("env",)
        and not text.startswith("ENV.")
    ):
        program.secret |= {"env"}
        program.low.emit("secret.read", "environment", certainty="possible", rule="environment-dump",
                         reason="Prints the environment, in which tokens and passwords often are")  # fmt: skip


def _note_secret(program: Scan, index: int, text: str) -> None:
    low = program.low
    if not any(secret_of(low.path(word.strip("'\"")), low.home) for word in text.split()[:8]):
        return
    program.secret |= {"file"}
    if index < program.sending_until and not program.sent:
        program.sent = True
        low.emit("net.upload", _address(program), secret=True)


def _delete(action: Action, targets: list[ProgramValue], low: Lowering) -> None:
    for target in targets:
        tree = action.recursive or target.name == "tree"
        text = target.text.partition("/**")[0] if target.name == "tree" else target.text
        word = Word(text or "/", glob=target.glob and "*" in text, quoted=True, taints=target.taints)
        low.delete(word, recursive=tree, forced=tree)
        if not action.words:
            break


def _act(action: Action, name: str, args: list[ProgramValue], low: Lowering) -> None:  # noqa: C901 - one case per sort of call
    first = args[0] if args else NOT_KNOWN
    if action.weak and not first.known:
        return
    match action.does:
        case "shell":
            if action.position:
                args = args[action.position :]
                first = args[0] if args else NOT_KNOWN
            if len(args) > 1 and action.words and not (first.known and " " in first.text.strip()):
                run_list(tuple(arg for arg in args if not arg.text.startswith("recursive")), low, name)
            elif args:
                run_shell(first, low, name)
        case "run":
            if len(args) == 1 and " " in first.text.strip():
                run_shell(first, low, name)
            else:
                run_list(tuple(args), low, name)
        case "delete":
            if action.position and first.text not in DELETED_CALLS:
                return
            _delete(action, args[action.position :] or [NOT_KNOWN], low)
        case "write":
            low.write((args[action.position] if len(args) > action.position else NOT_KNOWN).word, Stream(None))
        case "read":
            if args and not first.text.startswith(("http://", "https://")):
                low.read(first.word)
            elif args:
                download(first, low)
        case "open":
            _open(args, low, name)
        case "command":
            if action.command[0] == "chmod" and len(args) == 2 and args[1].text.isdecimal():
                args = [args[1], args[0]]
            low.run((*map(Word, action.command), *(arg.word for arg in args)), via=name)
        case "download":
            download(first, low)
        case "code":
            first = args[action.position] if len(args) > action.position else first
            if "http://" in first.text or "https://" in first.text:
                low.emit("code.remote", first.text)
            elif first.known:
                low.code(action.language, first.word, via=name)
            elif args:
                low.code(action.language, Word(UNKNOWN), via=name)
        case "file":
            if first.text.startswith(("http://", "https://")):
                low.emit("code.remote", first.text)
            elif first.text.startswith("data:"):
                low.code(action.language, first.text.partition(",")[2], via=name)
            elif first.known and first.text.startswith(("/", "./", "../", "~")):
                low.run_file(first.word, via=name, language=action.language)
        case "call":
            pass


def _open(args: list[ProgramValue], low: Lowering, name: str) -> None:
    """`open` of perl, ruby, php, lua: the mode stands in a second or third argument, or in front of the path."""
    texts = [arg.text for arg in args]
    if not texts:
        return
    for index, text in enumerate(texts):
        stripped = text.strip()
        if stripped in (">", ">>", "+<", "+>", "<", "-|", "|-") and index + 1 < len(texts):
            _open_mode(stripped, args[index + 1 :], low, name)
            return
        if stripped.startswith((">", "|")) or stripped.endswith("|"):
            mode = "|-" if "|" in (stripped[0], stripped[-1]) else ">"
            _open_mode(mode, [text_value(stripped.strip("|> "))], low, name)
            return
    mode = texts[1] if len(texts) > 1 else "r"
    if mode[:1] in ("w", "a", "x", "c") or "+" in mode:
        low.write(args[0].word, Stream(None), append=mode.startswith("a"))
    elif not texts[0].startswith(("http://", "https://")):
        low.read((args[1] if len(args) > 1 and not args[0].known else args[0]).word)
    else:
        download(args[0], low)


def _open_mode(mode: str, rest: list[ProgramValue], low: Lowering, name: str) -> None:
    if "|" in mode:
        if len(rest) > 1:
            run_list(tuple(rest), low, name)
        else:
            run_shell(rest[0], low, name)
    elif rest[0].text.startswith("&"):
        return
    elif ">" in mode or "+" in mode:
        low.write(rest[0].word, Stream(None), append=mode == ">>")
    else:
        low.read(rest[0].word)
