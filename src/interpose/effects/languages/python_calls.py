"""What calls of Python's library and of well-known packages would do."""

from __future__ import annotations

from collections.abc import Mapping

from interpose.effects.invocation import EMPTY_STREAM, NOTHING, UNKNOWN, Lowering, Stream, Word
from interpose.effects.languages.decoding import decode
from interpose.effects.languages.program_values import (
    NOT_KNOWN,
    ObjectFields,
    ProgramValue,
    all_taints,
    join_path,
    of_stream,
    run_list,
    run_shell,
    tainted,
    text_value,
    variable,
)
from interpose.effects.languages.python_names import (  # fmt: skip
    AS_COMMAND,
    DECODE,
    DELETE,
    EXEC,
    READ,
    SHELL,
    SUBPROCESS,
    constant,
)
from interpose.effects.languages.python_network import DATA_FILES, network
from interpose.effects.languages.python_text import FILE, MAX_ITEMS, RESPONSE, plain

Keywords = Mapping[str, ProgramValue]
Args = tuple[ProgramValue, ...]

PATH = "pathlib.Path()"
PROCESS = "process()"
_WHOLE = frozenset({"/", "/home", "/etc", "/usr", "/var", "/root", "/Users", "/boot", "/opt", "/lib", "/bin"})
_FETCHERS = frozenset({"curl", "wget", "nc", "ncat", "ssh", "aria2c", "http", "xh", "scp", "lynx", "fetch"})
_KEPT_EMPTY = frozenset({"__init__.py", ".gitkeep", ".keep", "py.typed", ".nojekyll", ".touch"})
"""Files that are usually empty."""
_FIRST_NAMES = ("path", "src", "command", "cmd", "filename", "file", "name", "source", "string", "oldname", "pathname")
"""What libraries call their first argument."""


class PythonMemory:
    """What is remembered over one program: sockets and descriptors that together make a reverse shell."""

    def __init__(self, low: Lowering, via: str) -> None:
        self.low = low
        self.via = via
        self.loops = 0
        self.filtered = 0
        self.seen: set[str] = set()
        self.handles: list[ObjectFields] = []

    def finish(self) -> None:
        """State what only the whole program shows."""
        for handle in self.handles:
            path = handle.own["path"]
            unsaid = path.text.startswith(UNKNOWN) or path.text.rpartition("/")[2] in _KEPT_EMPTY
            if "used" not in handle.own and not unsaid:
                self.low.write(path.word, EMPTY_STREAM, emptied=True)
        if "hidden" in self.seen:
            self.low.emit("opaque", self.via, certainty="possible", rule="hidden-call",
                          reason="The program reaches functions by a way that hides which")  # fmt: skip
        if "connect" in self.seen and self.seen & {"dup2", "pty"}:
            self.low.emit("code.remote", "socket", rule="reverse-shell", wide=True,
                          reason="This hands control of a shell to somebody on the network")  # fmt: skip


def use(value: ProgramValue) -> None:
    """A file that was opened goes somewhere: what is written to it is not known any more."""
    if value.name == FILE and value.fields is not None:
        value.fields.own["used"] = NOT_KNOWN


def call(name: str, args: Args, keywords: Keywords, session: PythonMemory) -> ProgramValue | None:
    """State what calling `name` does and give its value; None when the name means nothing to us."""
    low = session.low
    if not args and keywords:
        args = tuple(keywords[key] for key in _FIRST_NAMES if key in keywords)[:1]
    first = args[0] if args else NOT_KNOWN
    if name in SHELL:
        return _shell(name, first, args, session)
    if name in SUBPROCESS:
        return _subprocess(name, args, keywords, session)
    if name in EXEC:
        return _exec(name, args, session)
    if name in DELETE:
        low.delete(first.word, **DELETE[name])
        return NOT_KNOWN
    if name in AS_COMMAND:
        second = (*args[1:2], *(keywords[key] for key in ("dst", "target", "mode") if key in keywords))[:1]
        low.run((*map(Word, AS_COMMAND[name]), *(arg.word for arg in (first, *second))), via=name)
        return NOT_KNOWN
    if name in READ:
        if name.startswith("fileinput.") and keywords.get("inplace", NOT_KNOWN).text in ("True", "1"):
            low.write(first.word, in_place=True)
        stream = low.read(first.word)
        return ProgramValue(text=of_stream(stream).text, name=FILE, taints=stream.taints | {"file"})
    if name in DECODE:
        return _decoded(name, args)
    return (
        network(name, args, keywords, session.seen, low)
        or _process(name, args, session)
        or _files(name, args, keywords, session)
        or _library(name, args, keywords, session)
    )


def _decoded(name: str, args: Args) -> ProgramValue:
    codec = args[1].text.replace("-", "").replace("_", "").lower() if len(args) > 1 else ""
    if name == "codecs.encode" and codec not in ("rot13",):
        return args[0] if args else NOT_KNOWN
    return decode("codecs.decode" if name == "codecs.encode" else name, args)


def _fetches(text: str) -> frozenset[str]:
    """Where the output of a command comes from."""
    words = {word.rpartition("/")[2] for word in text[:256].split()}
    return frozenset({"output"} if words.isdisjoint(_FETCHERS) else {"output", "remote"})


def _started(words: Args, taints: frozenset[str]) -> ProgramValue:
    own = {"words": ProgramValue(items=words)}
    return ProgramValue(name=PROCESS, fields=ObjectFields(own), taints=taints)


def _shell(name: str, first: ProgramValue, args: Args, session: PythonMemory) -> ProgramValue:
    if name == "pty.spawn":
        session.seen.add("pty")
    if first.items is not None:
        run_list(first.items, session.low, name)
        return _started(first.items, frozenset({"output"}))
    if name == "pexpect.spawn" and len(args) > 1 and args[1].items is not None:
        run_list((first, *args[1].items), session.low, name)
        return _started((first, *args[1].items), frozenset({"output"}))
    run_shell(first, session.low, name)
    return _started((text_value("sh"), text_value("-c"), first), _fetches(first.text))


def feed(process: ProgramValue, given: ProgramValue, low: Lowering) -> None:
    """A program that was started gets input: a shell runs it."""
    words = process.fields.own.get("words") if process.fields is not None else None
    if words is not None and words.items and (given.known or given.taints):
        stdin = Stream(given.text if given.known else None, given.taints)
        low.run(tuple(word.word for word in words.items), via="stdin", stdin=stdin)


def _subprocess(name: str, args: Args, keywords: Keywords, session: PythonMemory) -> ProgramValue:
    low = session.low
    command = args[0] if args else keywords.get("args", NOT_KNOWN)
    words: Args = (
        args
        if name.startswith(("asyncio.", "plumbum.", "trio."))
        else (command.items if command.items is not None else (command,))
    )
    session.seen.add("subprocess")
    if {"stdin", "stdout"} <= keywords.keys() and "connect" in session.seen:
        session.seen.add("dup2")
    shell = keywords.get("shell")
    if shell is not None and shell.text not in ("False", "0", ""):
        words = (text_value("sh"), text_value("-c"), *(words[:1] or (NOT_KNOWN,)))
    elif (program := keywords.get("executable")) is not None and program.text:
        words = (program, *words[1:])
    cwd, place = keywords.get("cwd"), low.cwd
    if cwd is not None and cwd.text:
        low.set_cwd(cwd.word)
    _run(name, words, keywords, low)
    if low.cwd != place:
        low.set_cwd(place)
    return _started(words, _fetches(" ".join(word.text for word in words[:3])))


def _run(name: str, words: Args, keywords: Keywords, low: Lowering) -> None:
    given = keywords.get("input") or keywords.get("stdin")
    variables = keywords["env"].entries or () if "env" in keywords else ()
    env = tuple((key, worth.word) for key, worth in variables if worth.known)
    if given is None or not (given.text and (given.known or given.taints)) or given.name.startswith("subprocess."):
        if len(words) == 3 and words[1].text == "-c" and words[0].text == "sh" and not env:
            run_shell(words[2], low, name)
        elif words:
            low.run(tuple(word.word for word in words), via=name, env=env)
        return
    stdin = Stream(given.text if given.known else None, given.taints)
    low.run(tuple(word.word for word in words), via=name, stdin=stdin, env=env)


def _exec(name: str, args: Args, session: PythonMemory) -> ProgramValue:
    position, listed = EXEC[name]
    program = args[position] if len(args) > position else NOT_KNOWN
    rest = args[position + 1 :]
    words = (rest[0].items if rest[0].items is not None else (NOT_KNOWN, rest[0])) if listed and rest else rest
    session.seen.add("subprocess")
    run_list((program, *words[1:]), session.low, name)
    return NOT_KNOWN


def _process(name: str, args: Args, session: PythonMemory) -> ProgramValue | None:
    low = session.low
    first = args[0] if args else NOT_KNOWN
    second = args[1] if len(args) > 1 else NOT_KNOWN
    match name:
        case "os.kill" | "os.killpg":
            target = first.word if name == "os.kill" else Word(f"-{first.text}")
            low.run((Word("kill"), Word(f"-{second.text}"), Word("--"), target), via=name)
        case "os.fork" | "os.forkpty":
            if session.loops:
                low.emit("system", "processes", rule="fork-bomb", wide=True,
                         reason="Processes that start processes without end bring the machine down")  # fmt: skip
        case "os.dup2":
            session.seen.add("dup2")
        case "os.chmod" | "shutil.chmod" | "os.lchmod":
            mode = format(second.number, "o") if second.number is not None else UNKNOWN
            low.run((Word("chmod"), Word(mode), first.word), via=name)
        case "os.chown" | "shutil.chown" | "os.lchown":
            low.permission(first.word, owner=second.text)
        case "os.chdir":
            low.set_cwd(first.word)
        case "os.putenv" | "os.environ.__setitem__" | "os.environ.setdefault":
            low.run((Word("env"), Word(f"{first.text}={second.text}"), Word("true")), via=name)
        case "psutil.process_iter":
            return ProgramValue(element=ProgramValue(name="psutil.Process()", text="-1"))
        case "psutil.Process":
            return ProgramValue(name="psutil.Process()", text=first.text)
        case _:
            return None
    return NOT_KNOWN


def _files(  # noqa: C901 - one case per function
    name: str, args: Args, keywords: Keywords, session: PythonMemory
) -> ProgramValue | None:
    low = session.low
    first = args[0] if args else NOT_KNOWN
    second = args[1] if len(args) > 1 else NOT_KNOWN
    match name:
        case "open" | "os.open" | "os.fdopen" | "FileIO":
            mode = args[1] if len(args) > 1 else keywords.get("mode", keywords.get("flags"))
            return opened(first, mode, session)
        case "os.truncate":
            low.write(first.word, EMPTY_STREAM, emptied=second.text == "0")
        case "os.ftruncate" | "os.write" | "os.close":
            use(first)
            return NOT_KNOWN
        case "os.read" | "os.pread":
            return ProgramValue(text=first.text, taints=first.taints)
        case "shutil.copyfileobj":
            source = Stream(first.text if first.known and first.name == FILE else None, first.taints)
            if second.name == FILE and second.fields is not None:
                low.write(second.fields.own["path"].word, source)
        case "shutil.unpack_archive" | "tarfile.open" | "zipfile.ZipFile" | "tarfile.TarFile" | "py7zr.SevenZipFile":
            mode = args[1] if len(args) > 1 else keywords.get("mode", text_value("r"))
            if name == "shutil.unpack_archive":
                into = args[1] if len(args) > 1 else keywords.get("extract_dir", text_value("."))
                low.run((Word("tar"), Word("-xf"), first.word, Word("-C"), into.word), via=name)
            elif first.name != FILE and mode.text[:1] in ("w", "a", "x"):
                low.write(first.word, Stream(None))
                return ProgramValue(text=first.text, name="new_archive()")
            else:
                taints = first.taints if first.name == FILE else low.read(first.word).taints
                return ProgramValue(text=first.text, name="archive()", taints=taints)
        case "shutil.make_archive":
            for packed in (args[2] if len(args) > 2 else keywords.get("root_dir"), keywords.get("base_dir")):
                if packed is not None:
                    low.read(packed.word, recursive=True)
            low.write(ProgramValue(text=f"{first.text}.{second.text}").word, Stream(None))
        case "glob.glob" | "glob.iglob":
            root = keywords.get("root_dir")
            text = join_path([root.text, first.text]) if root is not None and root.text else first.text
            return ProgramValue(element=ProgramValue(text=text, glob=True, taints=first.taints))
        case "os.listdir" | "os.scandir":
            where = first.text if args else "."
            text = join_path([where, UNKNOWN]) if name == "os.scandir" else UNKNOWN
            return ProgramValue(element=ProgramValue(text=text, name=PATH if name == "os.scandir" else ""))
        case "os.walk" | "os.fwalk":
            everything = first.text in _WHOLE and not keywords
            inside = ProgramValue(element=ProgramValue(text="*", glob=True) if everything else NOT_KNOWN)
            return ProgramValue(element=ProgramValue(items=(first, inside, inside, NOT_KNOWN)))
        case "tempfile.TemporaryDirectory" | "tempfile.NamedTemporaryFile" | "tempfile.TemporaryFile":
            return ProgramValue(text="/tmp/" + UNKNOWN, name=PATH if "Directory" in name else "")  # noqa: S108
        case "sqlite3.connect" | "apsw.Connection" | "duckdb.connect" | "aiosqlite.connect" | "dbm.open":
            low.read(first.word)
            return ProgramValue(name="database()")
        case _:
            return None
    return NOT_KNOWN


def _library(name: str, args: Args, keywords: Keywords, session: PythonMemory) -> ProgramValue | None:
    low = session.low
    first = args[0] if args else NOT_KNOWN
    match name:
        case "input" | "raw_input":
            return tainted("input")
        case "os.getenv" | "os.environ.get" | "os.environ.pop" | "os.environ.__getitem__" | "os.getenvb":
            found = constant(f"os.environ[{first.text}]", low)
            return found or (args[1] if len(args) > 1 and args[1].others else variable(first.text))
        case "os.environ.copy":
            return constant("os.environ", low)
        case "os.environ.items" | "os.environ.values":
            worth = tainted("env", "secret", "each-variable")
            pair = ProgramValue(items=(NOT_KNOWN, worth), taints=worth.taints)
            return ProgramValue(element=pair if name.endswith("items") else worth, taints=frozenset({"environment"}))
        case "os.environ.keys":
            return ProgramValue(element=NOT_KNOWN)
        case "pathlib.Path" | "pathlib.PurePath" | "pathlib.PosixPath" | "pathlib.PurePosixPath" | "anyio.Path":
            return ProgramValue(text=join_path([arg.text for arg in args]) or ".", name=PATH, taints=all_taints(args))
        case "pathlib.Path.home":
            return ProgramValue(text=low.home, name=PATH)
        case "pathlib.Path.cwd":
            return ProgramValue(text=low.cwd, name=PATH)
        case "importlib.util.find_spec" | "importlib.resources.files" | "inspect.getfile" | "inspect.getsourcefile":
            module = first.name or first.text
            if module.partition(".")[0] != "interpose":
                return None
            return constant(f"{module}.{'__spec__' if name.endswith('spec') else '__file__'}", low)
        case "paramiko.SSHClient" | "paramiko.Transport":
            return ProgramValue(name="ssh()")
        case "paramiko.SFTPClient.from_transport":
            return ProgramValue(name="sftp()")
        case "dotenv.load_dotenv" | "subprocess.list2cmdline":
            return NOT_KNOWN
        case "ctypes.CDLL" | "ctypes.cdll.LoadLibrary" | "ctypes.PyDLL" | "ctypes.windll.LoadLibrary":
            return ProgramValue(name="ctypes()")
        case _:
            return plain(name, args, keywords, low)


def printed(args: Args, session: PythonMemory) -> ProgramValue:
    """Values go to where everybody reads them: all of the environment is what `printenv` prints."""
    taints = all_taints(args)
    if "environment" in taints or ("each-variable" in taints and not session.filtered):
        session.low.run((Word("printenv"),), via="print")
    elif "ours" in taints:
        # Where our package lies: whoever takes it from here is to be judged by it.
        session.low.output(Stream(" ".join(arg.text for arg in args) + "\n", taints))
    return NOT_KNOWN


def opened(path: ProgramValue, mode: ProgramValue | None, session: PythonMemory) -> ProgramValue:
    """`open`: reads or writes by its mode. A computed mode could write, but mostly reads."""
    low = session.low
    if path.name == FILE:
        return path
    text = _mode(mode)
    if any(letter in text for letter in "wax+"):
        low.write(path.word, Stream(None), append="a" in text, in_place="+" in text)
        handle = ObjectFields({"path": path} | ({"known": NOT_KNOWN, "used": NOT_KNOWN} if "a" in text else {}))
        if "w" in text and len(session.handles) < MAX_ITEMS:
            session.handles.append(handle)
        return ProgramValue(name=FILE, fields=handle)
    if path.text.isdecimal():
        return ProgramValue(name=FILE, taints=frozenset({"input"}))
    stream = low.read(path.word)
    taints = stream.taints if path.text.endswith(DATA_FILES) else stream.taints | {"file"}
    return ProgramValue(text=stream.text if stream.text is not None else UNKNOWN, name=FILE, taints=taints)


def _mode(mode: ProgramValue | None) -> str:
    if mode is None:
        return "r"
    if mode.number is not None:
        kind = mode.number & 3
        letter = "w" if mode.number & 0o1000 else ("a" if mode.number & 0o2000 else "+")
        return letter if kind else "r"
    return mode.text if mode.known else UNKNOWN


def write_to(handle: ProgramValue, given: ProgramValue, low: Lowering) -> None:
    """A text is written to a file that was opened for it."""
    if handle.fields is None or "path" not in handle.fields.own:
        return
    own = handle.fields.own
    where = own["path"].word
    if given.known and "used" not in own:  # the first thing that is written, and all that is there
        low.write(where, Stream(given.text, given.taints))
        own["known"] = NOT_KNOWN
    elif "known" in own:
        low.write(where, Stream(given.text if given.known else None, given.taints), append=True)
    own["used"] = NOT_KNOWN


def answer(taints: frozenset[str] = NOTHING) -> ProgramValue:
    """What a server or another program said."""
    return ProgramValue(name=RESPONSE, taints=taints)
