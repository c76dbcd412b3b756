"""What calls of Python's library and of well-known packages would do."""

from __future__ import annotations

from collections.abc import Mapping

from interpose.shell.invocation import NOTHING, UNKNOWN, Lowering, Stream, Word
from interpose.shell.languages.decoding import decode
from interpose.shell.languages.methods import destroys
from interpose.shell.languages.program_values import (
    NOT_KNOWN,
    ProgramValue,
    all_taints,
    download,
    join_path,
    of_stream,
    run_list,
    run_shell,
    sql,
    tainted,
    upload,
)  # fmt: skip
from interpose.shell.languages.python_names import (
    AS_COMMAND,
    DECODE,
    DELETE,
    EXEC,
    HTTP,
    READ,
    SHELL,
    SUBPROCESS,
    UNPICKLE,
    constant,
)  # fmt: skip
from interpose.shell.languages.python_text import FILE, RESPONSE, plain, text_method

Keywords = Mapping[str, ProgramValue]
Args = tuple[ProgramValue, ...]

_PATH = "pathlib.Path()"


class PythonMemory:
    """What is remembered over one program: sockets and descriptors that together make a reverse shell."""

    def __init__(self, low: Lowering, via: str) -> None:
        self.low = low
        self.via = via
        self.loops = 0
        self.seen: set[str] = set()

    def finish(self) -> None:
        """State what only the whole program shows."""
        if "hidden" in self.seen:
            self.low.emit("opaque", self.via, certainty="possible", rule="hidden-call",
                          reason="The program reaches functions by a way that hides which")  # fmt: skip
        if "connect" in self.seen and self.seen & {"dup2", "pty"}:
            self.low.emit("code.remote", "socket", rule="reverse-shell", wide=True,
                          reason="This hands control of a shell to somebody on the network")  # fmt: skip


def call(name: str, args: Args, keywords: Keywords, session: PythonMemory) -> ProgramValue | None:
    """State what calling `name` does and give its value; None when the name means nothing to us."""
    low = session.low
    first = args[0] if args else NOT_KNOWN
    if name in SHELL:
        return _shell(name, first, session)
    if name in SUBPROCESS:
        return _subprocess(name, args, keywords, session)
    if name in EXEC:
        return _exec(name, args, session)
    if name in DELETE:
        target = first if args else keywords.get("path", NOT_KNOWN)
        low.delete(target.word, **DELETE[name])
        return NOT_KNOWN
    if name in AS_COMMAND:
        low.run((*map(Word, AS_COMMAND[name]), *(arg.word for arg in args[:2])), via=name)
        return NOT_KNOWN
    if name in READ:
        return of_stream(low.read(first.word))
    if name in DECODE:
        return decode(name, args)
    if name in UNPICKLE:
        if "remote" in all_taints(args):
            low.emit("code.remote", name)
        return NOT_KNOWN
    return (
        _network(name, args, keywords, session)
        or _process(name, args, session)
        or _library(name, args, keywords, session)
    )


def _shell(name: str, first: ProgramValue, session: PythonMemory) -> ProgramValue:
    if name == "pty.spawn":
        session.seen.add("pty")
    if first.items is not None:
        run_list(first.items, session.low, name)
    else:
        run_shell(first, session.low, name)
    return ProgramValue(name=FILE, taints=frozenset({"output"}))


def _subprocess(name: str, args: Args, keywords: Keywords, session: PythonMemory) -> ProgramValue:
    command = args[0] if args else keywords.get("args", NOT_KNOWN)
    shell = keywords.get("shell")
    through_shell = shell is not None and shell.text != "False"
    words = (
        args
        if name.startswith(("asyncio.", "plumbum."))
        else (command.items if command.items is not None else (command,))
    )
    session.seen.add("subprocess")
    if {"stdin", "stdout"} <= keywords.keys() and "connect" in session.seen:
        session.seen.add("dup2")
    if through_shell:
        run_shell(words[0] if words else NOT_KNOWN, session.low, name)
    else:
        run_list(words, session.low, name)
    program = words[0].text.rpartition("/")[2] if words else ""
    remote = program.split(" ")[0] in ("curl", "wget", "nc", "ssh")
    return ProgramValue(name=RESPONSE, taints=frozenset({"output", "remote"} if remote else {"output"}))


def _exec(name: str, args: Args, session: PythonMemory) -> ProgramValue:
    position, listed = EXEC[name]
    program = args[position] if len(args) > position else NOT_KNOWN
    rest = args[position + 1 :]
    words = (rest[0].items or ()) if listed and rest else rest
    session.seen.add("subprocess")
    run_list((program, *words[1:]), session.low, name)
    return NOT_KNOWN


def _network(name: str, args: Args, keywords: Keywords, session: PythonMemory) -> ProgramValue | None:
    low = session.low
    module, _, attr = name.rpartition(".")
    if module in ("requests", "requests.Session()", "aiohttp.ClientSession()", "requests.Client()") and attr in HTTP:
        return request(attr, args, keywords, low)
    match name:
        case "urllib.request.urlopen" | "urllib.urlopen":
            url = args[0] if args else NOT_KNOWN
            if len(args) > 1 or "data" in keywords:
                upload(url, all_taints((*args[1:], *keywords.values())), low)
                return ProgramValue(name=RESPONSE, taints=frozenset({"remote"}))
            return ProgramValue(name=RESPONSE, taints=download(url, low).taints)
        case "urllib.request.Request":
            if "data" in keywords or len(args) > 1:
                upload(args[0] if args else NOT_KNOWN, all_taints((*args[1:], *keywords.values())), low)
            return args[0] if args else NOT_KNOWN
        case "urllib.request.urlretrieve" | "urllib.urlretrieve" | "wget.download":
            taints = download(args[0] if args else NOT_KNOWN, low).taints
            if len(args) > 1:
                low.write(args[1].word, Stream(None, taints))
            return NOT_KNOWN
        case "http.client.HTTPConnection" | "http.client.HTTPSConnection" | "httplib.HTTPConnection":
            port = args[1] if len(args) > 1 else keywords.get("port")
            host = (args[0] if args else keywords.get("host", NOT_KNOWN)).text
            return ProgramValue(text=host if port is None else f"{host}:{port.text}", name="http.client()")
        case "requests.Session" | "requests.Client" | "requests.AsyncClient" | "aiohttp.ClientSession":
            return ProgramValue(name="requests.Session()")
        case (
            "http.server.HTTPServer" | "socketserver.TCPServer" | "http.server.test" | "http.server.ThreadingHTTPServer"
        ):
            low.emit("net.listen", name)
            return NOT_KNOWN
        case "socket.socket" | "socket.create_connection":
            if name.endswith("connection"):
                session.seen.add("connect")
                _connects(args[0] if args else NOT_KNOWN, low)
            return ProgramValue(name="socket()", taints=frozenset({"remote"}))
        case _:
            return None


def request(verb: str, args: Args, keywords: Keywords, low: Lowering) -> ProgramValue:
    """An HTTP request of whatever library."""
    if verb == "request" and args:
        verb, args = args[0].text.lower(), args[1:]
    url = args[0] if args else keywords.get("url", NOT_KNOWN)
    body = tuple(
        value for key, value in keywords.items() if key in ("data", "json", "files", "content", "params", "headers")
    )
    sent = all_taints((*args[1:], *body))
    if verb == "delete":
        low.run((Word("curl"), Word("-X"), Word("DELETE"), url.word), via="http")
    elif verb in ("post", "put", "patch") or "secret" in sent:
        upload(url, sent, low)
    else:
        download(url, low)
    return ProgramValue(name=RESPONSE, taints=frozenset({"remote"}))


def _process(name: str, args: Args, session: PythonMemory) -> ProgramValue | None:
    low = session.low
    first = args[0] if args else NOT_KNOWN
    second = args[1] if len(args) > 1 else NOT_KNOWN
    match name:
        case "os.kill" | "os.killpg":
            target = first.word if name == "os.kill" else Word(f"-{first.text}")
            low.run((Word("kill"), Word(f"-{second.text}"), Word("--"), target), via=name)
        case "os.fork":
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
        case "os.truncate":
            low.write(first.word)
        case "os.chdir":
            low.set_cwd(first.word)
        case "os.putenv":
            low.run((Word("env"), Word(f"{first.text}={second.text}"), Word("true")), via=name)
        case _:
            return None
    return NOT_KNOWN


def _library(  # noqa: C901 - one case per function
    name: str, args: Args, keywords: Keywords, session: PythonMemory
) -> ProgramValue | None:
    low = session.low
    first = args[0] if args else NOT_KNOWN
    match name:
        case "exec" | "eval" | "runpy.run_string" | "code.InteractiveInterpreter.runsource":
            if name == "exec" or not first.known or "(" in first.text:
                low.code("python", first.word, via=name)
            return NOT_KNOWN
        case "compile":
            return first
        case "runpy.run_path":
            low.run_file(first.word, via=name, language="python")
            return NOT_KNOWN
        case "__import__" | "importlib.import_module":
            # `__import__("a.b")` gives the package `a`.
            module = first.text.partition(".")[0] if name == "__import__" else first.text
            return ProgramValue(name=module) if first.known else NOT_KNOWN
        case "getattr":
            if len(args) > 1 and args[1].known and first.name:
                return constant(f"{first.name}.{args[1].text}", low) or ProgramValue(
                    name=f"{first.name}.{args[1].text}"
                )
            return NOT_KNOWN
        case "globals" | "locals" | "vars" | "dir":
            return ProgramValue(name=f"{first.name}.__dict__" if args and first.name else "globals()")
        case "open" | "os.open" | "os.fdopen":
            return opened(first, args[1] if len(args) > 1 else keywords.get("mode"), low)
        case "input" | "raw_input":
            return tainted("input")
        case "pathlib.Path" | "pathlib.PurePath" | "pathlib.PosixPath":
            return ProgramValue(text=join_path([arg.text for arg in args]) or ".", name=_PATH, taints=all_taints(args))
        case "pathlib.Path.home":
            return ProgramValue(text=low.home, name=_PATH)
        case "pathlib.Path.cwd":
            return ProgramValue(text=low.cwd, name=_PATH)
        case "glob.glob" | "glob.iglob":
            return ProgramValue(element=ProgramValue(text=first.text, glob=True, taints=first.taints))
        case "os.listdir" | "os.scandir":
            return ProgramValue(
                element=ProgramValue(text=join_path([first.text, UNKNOWN]) if name == "os.scandir" else UNKNOWN)
            )
        case "os.walk":
            return ProgramValue(
                element=ProgramValue(items=(first, ProgramValue(element=NOT_KNOWN), ProgramValue(element=NOT_KNOWN)))
            )
        case "print":
            if "ours" in all_taints(args):
                # Where our package lies: whoever takes it from here is to be judged by it.
                low.output(Stream(" ".join(arg.text for arg in args) + "\n", all_taints(args)))
            return NOT_KNOWN
        case "sqlite3.connect" | "apsw.Connection" | "duckdb.connect" | "aiosqlite.connect" | "dbm.open":
            low.read(first.word)
            return ProgramValue(name="database()")
        case "importlib.util.find_spec" | "importlib.resources.files" | "inspect.getfile" | "inspect.getsourcefile":
            module = first.name or first.text
            if module.partition(".")[0] != "interpose":
                return None
            return constant(f"{module}.{'__spec__' if name.endswith('spec') else '__file__'}", low)
        case _:
            return plain(name, args, low)


def _connects(address: ProgramValue, low: Lowering) -> None:
    """A connection by hand: what goes over it is not followed."""
    if address.items is not None and len(address.items) > 1:
        low.reach_raw(address.items[0].text, address.items[1].text, Stream())
    elif address.known:
        low.reach_raw("", "", Stream(), socket=address.text)


def opened(path: ProgramValue, mode: ProgramValue | None, low: Lowering) -> ProgramValue:
    """`open`: reads or writes by its mode. A computed mode could write, but mostly reads."""
    text = mode.text if mode is not None and mode.known else ("r" if mode is None else UNKNOWN)
    if any(letter in text for letter in "wax+"):
        low.write(path.word, Stream(None), append="a" in text, in_place="+" in text)
        return ProgramValue(name=FILE)
    if path.text.isdecimal():
        return ProgramValue(name=FILE, taints=frozenset({"input"}))
    stream = low.read(path.word)
    return ProgramValue(text=stream.text if stream.text is not None else UNKNOWN, name=FILE, taints=stream.taints)


def method(receiver: ProgramValue, name: str, args: Args, keywords: Keywords, session: PythonMemory) -> ProgramValue:
    """A method of a value that is not a module: texts, paths, files, responses, sockets, clients."""
    low = session.low
    first = args[0] if args else NOT_KNOWN
    if receiver.name == _PATH or name in (
        "unlink",
        "write_text",
        "write_bytes",
        "read_text",
        "read_bytes",
        "rglob",
        "iterdir",
    ):
        found = _path_method(receiver, name, args, low)
        if found is not None:
            return found
    match name:
        case "system" | "popen" if args:
            run_shell(first, low, name)
        case "execute" | "executescript" | "executemany" | "exec_driver_sql" | "raw":
            sql(first, low, name)
        case "connect" | "connect_ex" if receiver.name == "socket()":
            session.seen.add("connect")
            _connects(first, low)
        case "request" | "putrequest" if receiver.name == "http.client()":
            upload(ProgramValue(text=receiver.text + (args[1].text if len(args) > 1 else UNKNOWN)), NOTHING, low)
        case "bind" | "listen" if receiver.name == "socket()":
            low.emit("net.listen", first.text)
        case "recv" | "recvfrom" | "makefile":
            return ProgramValue(taints=receiver.taints | {"remote"} if receiver.name == "socket()" else receiver.taints)
        case "sendall" | "send" if "secret" in first.taints:
            upload(ProgramValue(text="socket"), first.taints, low)
        case "get" | "post" | "put" | "patch" | "delete" if receiver.name == "requests.Session()":
            return request(name, args, keywords, low)
        case "delete" | "drop" if not args and not receiver.known and receiver.name == "":
            low.emit("data.destroy", name, certainty="possible", rule="api-delete",
                     reason=f"`{name}` of an object removes what it stands for")  # fmt: skip
        case "sync_all" | "remove_all" | "extractall":
            pass
        case _:
            if destroys(name, args, low):
                return NOT_KNOWN
    return text_method(receiver, name, args)


def _path_method(path: ProgramValue, name: str, args: Args, low: Lowering) -> ProgramValue | None:  # noqa: C901 - one case per method
    word = path.word
    first = args[0] if args else NOT_KNOWN
    match name:
        case "unlink":
            low.delete(word)
        case "rmdir":
            low.run((Word("rmdir"), word), via="Path.rmdir")
        case "rmtree":
            low.delete(word, recursive=True, forced=True)
        case "write_text" | "write_bytes":
            low.write(word, Stream(first.text if first.known else None, first.taints))
        case "touch":
            low.write(word, append=True)
        case "read_text" | "read_bytes":
            return of_stream(low.read(word))
        case "open":
            return opened(path, args[0] if args else None, low)
        case "chmod":
            low.run(
                (Word("chmod"), Word(format(first.number, "o") if first.number is not None else UNKNOWN), word),
                via="Path.chmod",
            )
        case "rename" | "replace":
            low.run((Word("mv"), word, first.word), via="Path.rename")
        case "symlink_to":
            low.run((Word("ln"), Word("-s"), first.word, word), via="Path.symlink_to")
        case "glob" | "rglob" | "iterdir":
            inner = "*" if name != "glob" else first.text
            return ProgramValue(
                element=ProgramValue(text=join_path([path.text, inner]), name=_PATH, glob=True, taints=path.taints)
            )
        case "joinpath":
            return ProgramValue(
                text=join_path([path.text, *(arg.text for arg in args)]), name=_PATH, taints=path.taints
            )
        case "expanduser":
            return ProgramValue(text=low.path(word), name=_PATH, taints=path.taints)
        case "resolve" | "absolute":
            return ProgramValue(text=low.path(word), name=_PATH, taints=path.taints)
        case "with_suffix" | "with_name" | "with_stem" | "relative_to":
            return ProgramValue(name=_PATH)
        case _:
            return None
    return NOT_KNOWN
