"""What methods of Python's values would do: paths, files, programs that were started, archives, clients."""

from __future__ import annotations

from interpose.effects.invocation import UNKNOWN, Lowering, Stream, Word
from interpose.effects.languages.methods import destroys, destroys_all
from interpose.effects.languages.program_values import (
    NOT_KNOWN,
    ProgramValue,
    all_taints,
    entry,
    join_path,
    of_stream,
    run_shell,
    sql,
    text_value,
)
from interpose.effects.languages.python_calls import (
    PATH,
    PROCESS,
    Args,
    Keywords,
    PythonMemory,
    call,
    feed,
    opened,
    printed,
    use,
    write_to,
)
from interpose.effects.languages.python_network import DATA_FILES, connects, from_store, request, sends
from interpose.effects.languages.python_text import FILE, text_method

_OF_PATHS = frozenset({"unlink", "write_text", "write_bytes", "read_text", "read_bytes", "rglob", "iterdir"})
"""Methods that only paths have."""
_SHELL_METHODS = frozenset({"system", "popen", "exec_command"})
_RUN_METHODS = frozenset({"run", "sudo", "local", "run_sync", "exec_run", "getoutput", "run_cmd", "run_command",
                          "sendline", "system_raw", "exec"})  # fmt: skip
"""Methods that run a command if what they get looks like one."""
_LIBC = {"system": "os.system", "popen": "os.popen", "unlink": "os.unlink", "remove": "os.remove",
         "rmdir": "os.rmdir", "execl": "os.execl", "execlp": "os.execlp", "execv": "os.execv", "execvp": "os.execvp",
         "execve": "os.execve", "kill": "os.kill", "fork": "os.fork", "rename": "os.rename",
         "truncate": "os.truncate", "chmod": "os.chmod", "WinExec": "os.system", "_wsystem": "os.system",
         "ShellExecuteW": "os.system", "ShellExecuteA": "os.system"}  # fmt: skip
_QUERIES = frozenset({"execute", "executescript", "executemany", "exec_driver_sql", "raw", "fetch", "fetchrow",
                      "fetchval", "sql", "query", "text"})  # fmt: skip


def method(  # noqa: C901 - one case per kind of receiver
    receiver: ProgramValue, name: str, args: Args, keywords: Keywords, session: PythonMemory
) -> ProgramValue:
    """A method of a value that is not a module: texts, paths, files, responses, sockets, clients."""
    low = session.low
    first = args[0] if args else NOT_KNOWN
    if receiver.name == FILE:
        if name in ("write", "writelines"):
            whole = first if name == "write" or first.items is None else text_method(text_value(""), "join", args, {})
            write_to(receiver, whole, low)
        elif name not in ("close", "flush", "__enter__", "__exit__"):
            use(receiver)
    if receiver.name == "ctypes()" and name in _LIBC:
        return call(_LIBC[name], args, keywords, session) or NOT_KNOWN
    holder = receiver.does.method if receiver.does is not None else ""
    if holder and _of_holder(holder, name, args, keywords, low):
        return NOT_KNOWN
    if receiver.name == PATH or name in _OF_PATHS:
        found = _path_method(receiver, name, args, keywords, session)
        if found is not None:
            return found
    if receiver.name == PROCESS and name in ("communicate", "write", "sendline", "send", "writelines", "drain_write"):
        feed(receiver, args[0] if args else keywords.get("input", NOT_KNOWN), low)
        return ProgramValue(name=PROCESS, taints=receiver.taints, fields=receiver.fields)
    if (stored := from_store(name, args, keywords, low)) is not None:
        return stored
    if sends(receiver, name, args, keywords, low):
        return NOT_KNOWN
    match name:
        case _ if name in _SHELL_METHODS and args:
            if first.items is None:
                run_shell(first, low, name)
        case _ if name in _RUN_METHODS and args and _is_command(first):
            run_shell(first, low, name)
        case _ if name in _QUERIES and args:
            sql(first, low, name)
        case "connect" | "connect_ex" if receiver.name == "socket()":
            session.seen.add("connect")
            connects(first, low)
        case "bind" | "listen" if receiver.name == "socket()":
            low.emit("net.listen", first.text)
        case "recv" | "recvfrom" | "makefile":
            return ProgramValue(taints=receiver.taints | {"remote"} if receiver.name == "socket()" else receiver.taints)
        case "get" | "post" | "put" | "patch" | "delete" | "request" if receiver.name == "requests.Session()":
            return request(name, args, keywords, low)
        case "open_sftp" | "from_transport":
            return ProgramValue(name="sftp()")
        case "kill" | "terminate" | "suspend" if receiver.name == "psutil.Process()":
            low.run((Word("kill"), Word("-9"), Word("--"), receiver.word), via=name)
        case "extractall" | "extract" if receiver.name == "archive()":
            _extract(receiver, name, args, keywords, low)
        case "add" | "write" | "writeall" if receiver.name == "new_archive()" and args:
            low.read(first.word, recursive=True)
        case "load_module" | "exec_module" if receiver.name.startswith("importlib.") and receiver.known:
            low.run_file(receiver.word, via=name, language="python")
        case "read" | "read_file" if receiver.name == "configparser.ConfigParser()":
            low.read(first.word)
        case "warning" | "info" | "error" | "debug" | "critical" | "exception" | "log" | "print" | "echo" | "pprint":
            printed(args, session)
        case "delete" | "drop" | "delete_many" | "remove" if _empties(receiver, name, args, keywords):
            low.emit("data.destroy", name, certainty="possible", rule="api-delete",
                     reason=f"`{name}` of an object removes what it stands for")  # fmt: skip
        case "execute_command" if first.text.upper() in ("FLUSHALL", "FLUSHDB", "SHUTDOWN"):
            low.run((Word("redis-cli"), first.word), via=name)
        case "command" if first.text in ("dropDatabase", "drop", "shutdown"):
            low.emit("data.destroy", first.text, certainty="possible", rule="api-delete",
                     reason=f"`{first.text}` destroys a database, or ends its server")  # fmt: skip
        case "sync_all" | "remove_all":
            pass
        case _:
            if destroys(name, args, low):
                return NOT_KNOWN
    return text_method(receiver, name, args, keywords)


def _of_holder(holder: str, name: str, args: Args, keywords: Keywords, low: Lowering) -> bool:
    """Methods of what clients hold: `repo.git.push(...)`, `client.volumes.prune()`, `client.containers.run(...)`."""
    if holder == "git":
        flags = [Word(f"--{key.replace('_', '-')}") for key, worth in keywords.items() if worth.text == "True"]
        listed = args[0].items if name == "execute" and args and args[0].items is not None else None
        words = [word.word for word in listed[1:]] if listed else [Word(name.replace("_", "-"))]
        low.run((Word("git"), *words, *flags, *(arg.word for arg in (args if listed is None else ()))), via="git")
        return True
    if holder == "containers" and name == "run" and args:
        mounts = keywords["volumes"].entries or () if "volumes" in keywords else ()
        flags = [Word(text) for host, worth in mounts for text in ("-v", f"{host}:{_mounted(worth)}")]
        low.run((Word("docker"), Word("run"), *flags, *(arg.word for arg in args[:2])), via="docker")
        return True
    return destroys_all(holder, name, args, low)


def _mounted(value: ProgramValue) -> str:
    place = entry(value, "bind")
    return place.text if place is not None else UNKNOWN


def _is_command(value: ProgramValue) -> bool:
    """Whether a text that is given to something's `run` is a command and not the name of one: a word, a blank, more."""
    return value.known and not value.name and value.items is None and " " in value.text.strip()


def _empties(receiver: ProgramValue, name: str, args: Args, keywords: Keywords) -> bool:
    if receiver.known or receiver.items is not None or receiver.entries is not None:
        return False
    if name in ("delete", "drop") and not args and not keywords:
        tail = receiver.name.rpartition(".")[2]
        model = "." in receiver.name and tail[:1].isupper() and not tail.isupper()
        return receiver.name == "" or model or tail in ("query", "objects", "collection")
    if not args and "force" in keywords:
        return receiver.name == ""
    if name == "delete" and keywords:
        return "index" in keywords and "id" not in keywords
    return name == "remove" and len(args) == 1 and args[0].entries == ()


def _extract(archive: ProgramValue, name: str, args: Args, keywords: Keywords, low: Lowering) -> None:
    position = 0 if name == "extractall" else 1
    into = args[position] if len(args) > position else keywords.get("path", text_value("."))
    low.run((Word("tar"), Word("-xf"), archive.word, Word("-C"), into.word), via=name)


def _path_method(  # noqa: C901 - one case per method
    path: ProgramValue, name: str, args: Args, keywords: Keywords, session: PythonMemory
) -> ProgramValue | None:
    low = session.low
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
            given = args[0] if args else keywords.get("data", NOT_KNOWN)
            low.write(word, Stream(given.text if given.known else None, given.taints), emptied=given.text == "")
        case "touch":
            low.write(word, append=True)
        case "read_text" | "read_bytes":
            found = of_stream(low.read(word))
            taints = found.taints if path.text.endswith(DATA_FILES) else found.taints | {"file"}
            return ProgramValue(text=found.text, taints=taints)
        case "open":
            return opened(ProgramValue(text=path.text, glob=path.glob, taints=path.taints),
                          args[0] if args else keywords.get("mode"), session)  # fmt: skip
        case "chmod":
            low.run(
                (Word("chmod"), Word(format(first.number, "o") if first.number is not None else UNKNOWN), word),
                via="Path.chmod",
            )
        case "rename" | "replace" | "move" | "move_into":
            low.run((Word("mv"), word, first.word), via="Path.rename")
            return ProgramValue(text=first.text, name=PATH, taints=first.taints)
        case "copy" | "copy_into":
            low.run((Word("cp"), Word("-r"), word, first.word), via="Path.copy")
        case "symlink_to" | "hardlink_to" | "link_to":
            low.run((Word("ln"), Word("-s"), first.word, word), via="Path.symlink_to")
        case "mkdir":
            low.run((Word("mkdir"), Word("-p"), word), via="Path.mkdir")
        case "glob" | "rglob" | "iterdir" | "walk":
            inner = first.text if name == "glob" or (name == "rglob" and args) else "*"
            if name == "rglob" and inner not in ("*", "**", "*.*"):
                inner = f"**/{inner}"
            found = ProgramValue(text=join_path([path.text, inner]), name=PATH, glob=True, taints=path.taints)
            if name == "walk":
                names = ProgramValue(element=NOT_KNOWN)
                return ProgramValue(element=ProgramValue(items=(path, names, names)))
            return ProgramValue(element=found)
        case "joinpath":
            return ProgramValue(
                text=join_path([path.text, *(arg.text for arg in args)]), name=PATH, taints=path.taints,
                glob=path.glob or any(arg.glob for arg in args),
            )  # fmt: skip
        case "expanduser" | "resolve" | "absolute":
            return ProgramValue(text=low.path(word), name=PATH, taints=path.taints, glob=path.glob)
        case "as_posix" | "__str__" | "__fspath__" | "as_uri":
            return ProgramValue(text=path.text, taints=path.taints, glob=path.glob)
        case "with_suffix" | "with_name" | "with_stem" | "relative_to":
            if name == "with_name" and path.known and first.known:
                return ProgramValue(text=join_path([path.text.rpartition("/")[0], first.text]), name=PATH)
            return ProgramValue(name=PATH, taints=path.taints | all_taints(args))
        case _:
            return None
    return NOT_KNOWN
