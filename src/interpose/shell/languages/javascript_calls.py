"""What calls of Node's, Deno's and Bun's libraries and of well-known packages would do."""

from __future__ import annotations

from interpose.shell.invocation import UNKNOWN, Lowering, Stream, Word
from interpose.shell.languages.decoding import decode
from interpose.shell.languages.methods import destroys
from interpose.shell.languages.program_values import (
    NOT_KNOWN,
    ProgramValue,
    all_taints,
    concat,
    download,
    join_path,
    of_stream,
    run_list,
    run_shell,
    sql,
    tainted,
    text_value,
    upload,
)

Args = tuple[ProgramValue, ...]

_MODULES = {
    "fs/promises": "fs",
    "fs-extra": "fs",
    "graceful-fs": "fs",
    "child_process/promises": "child_process",
    "shelljs": "shell",
}

SHELL = frozenset({"child_process.exec", "child_process.execSync", "execSync", "shell.exec", "execaCommand",
                   "execa.command", "execa.execaCommand", "execa.execaCommandSync", "Deno.run"})  # fmt: skip
RUN = frozenset({"child_process.spawn", "child_process.spawnSync", "child_process.execFile",
                 "child_process.execFileSync", "execa", "execa.execa", "execa.sync", "spawnSync", "execFileSync",
                 "cross-spawn", "Bun.spawn", "Bun.spawnSync", "Deno.Command"})  # fmt: skip
DELETE = frozenset(
    {"rm", "rmSync", "rmdir", "rmdirSync", "unlink", "unlinkSync", "remove", "removeSync", "emptyDir", "emptyDirSync"}
)
WRITE = frozenset({"writeFile", "writeFileSync", "appendFile", "appendFileSync", "createWriteStream", "outputFile",
                   "outputFileSync", "truncate", "truncateSync", "writeJson", "writeJsonSync", "outputJson",
                   "writeTextFile", "writeTextFileSync"})  # fmt: skip
READ = frozenset(
    {"readFile", "readFileSync", "createReadStream", "readJson", "readJsonSync", "readTextFile", "readTextFileSync"}
)
AS_COMMAND = {"rename": ("mv",), "renameSync": ("mv",), "move": ("mv",), "moveSync": ("mv",), "copyFile": ("cp",),
              "copyFileSync": ("cp",),
              "cp": ("cp", "-r"), "cpSync": ("cp", "-r"), "copy": ("cp", "-r"), "copySync": ("cp", "-r"),
              "symlink": ("ln", "-s"),
              "symlinkSync": ("ln", "-s"), "link": ("ln",), "linkSync": ("ln",)}  # fmt: skip
UNIQUE = frozenset(
    {"rmSync", "rmdirSync", "unlinkSync", "writeFileSync", "appendFileSync", "readFileSync", "renameSync", "chmodSync"}
)
"""Names that mean the file system's function wherever they were taken from."""

CODE = frozenset({"eval", "Function", "vm.runInThisContext", "vm.runInNewContext", "vm.Script", "vm.compileFunction"})
LISTEN = frozenset(
    {"http.createServer", "https.createServer", "net.createServer", "Bun.serve", "Deno.serve", "Deno.listen"}
)
CONNECT = frozenset({"net.connect", "net.createConnection", "net.Socket", "tls.connect", "Deno.connect"})


class JavascriptMemory:
    """What is remembered over one program."""

    def __init__(self, low: Lowering, via: str) -> None:
        self.low = low
        self.via = via
        self.acted = False
        self.connected = False
        self.spawned = False
        self.loops = 0

    def finish(self) -> None:
        if self.connected and self.spawned:
            self.low.emit("code.remote", "socket", rule="reverse-shell", wide=True,
                          reason="This hands control of a shell to somebody on the network")  # fmt: skip


def canonical(name: str) -> str:
    """One spelling for the name of a module or of what is in it."""
    name = name.removeprefix("node:")
    name = _MODULES.get(name, name)
    for prefix in ("globalThis.", "global.", "window."):
        name = name.removeprefix(prefix)
    return name.replace("fs.promises.", "fs.").replace(".default.", ".").removesuffix(".default")


def known_name(name: str, low: Lowering) -> ProgramValue | None:
    """The value of a name that is known before the program runs."""
    match name:
        case "process.env":
            return ProgramValue(name="process.env", taints=frozenset({"env", "secret", "environment"}))
        case "process.env.HOME" | "process.env.USERPROFILE":
            return text_value(low.home)
        case "process.env.PWD" | "__dirname":
            return text_value(low.cwd)
        case "process.execPath":
            return text_value("node")
        case "process.argv":
            return tainted("param")
        case "process.stdin":
            return tainted("input")
        case "undefined":
            return ProgramValue(text="")
        case _:
            return tainted("env") if name.startswith("process.env.") else None


def call(name: str, args: Args, session: JavascriptMemory) -> ProgramValue | None:
    """State what calling `name` does and give its value; None when the name means nothing to us."""
    low = session.low
    module, _, tail = name.rpartition(".")
    if name in ("require", "import", "module.require", "process.mainModule.require", "createRequire"):
        return ProgramValue(name=canonical(args[0].text)) if args and args[0].known else NOT_KNOWN
    before = session.acted
    session.acted = True
    found = (
        _processes(name, args, session)
        or _files(module, tail, args, low)
        or _network(name, args, session)
        or _code(name, args, low)
    )
    if found is not None:
        return found
    session.acted = before
    value = _plain(name, args, low)
    if value is not None:
        return value
    if tail in ("query", "execute", "raw", "$executeRawUnsafe", "$queryRawUnsafe", "exec", "run") and args:
        sql(args[0], low, tail)
    elif destroys(tail, args, low):
        session.acted = True
        return NOT_KNOWN
    return None


def _processes(name: str, args: Args, session: JavascriptMemory) -> ProgramValue | None:
    low = session.low
    first = args[0] if args else NOT_KNOWN
    if name in SHELL or name == "child_process.fork":
        session.spawned = True
        if name == "child_process.fork":
            low.run_file(first.word, via=name, language="javascript")
            if session.loops:
                low.emit("system", "processes", rule="fork-bomb", wide=True,
                         reason="Processes that start processes without end bring the machine down")  # fmt: skip
        elif first.name == "object()":
            run_list(_listed(first, "cmd"), low, name)
        else:
            run_shell(first, low, name)
        return tainted("output")
    if name in RUN:
        session.spawned = True
        words = _listed(args[1], "args") if len(args) > 1 else ()
        if first.items is not None and first.name != "object()":
            listed = first.items
            first, words = (listed[0] if listed else NOT_KNOWN), listed[1:]
        if len(args) > 1 and "shell:true" in args[-1].text:
            joined = first
            for word in words:
                joined = concat(concat(joined, text_value(" ")), word)
            run_shell(joined, low, name)
        else:
            run_list((first, *words), low, name)
        return tainted("output")
    if name == "process.kill":
        signal = args[1].text.removeprefix("SIG") if len(args) > 1 else "TERM"
        low.run((Word("kill"), Word(f"-{signal}"), Word("--"), first.word), via=name)
        return NOT_KNOWN
    return None


def _listed(value: ProgramValue, key: str) -> Args:
    """The words of a command: a list, or a list under a key of an options object."""
    if value.name == "object()":
        for pair in value.items or ():
            if pair.name.strip("'\"") == f"pair:{key}" and pair.items:
                return pair.items[0].items or ()
        return ()
    return value.items if value.items is not None else (value,)


def _files(module: str, tail: str, args: Args, low: Lowering) -> ProgramValue | None:
    if module not in ("fs", "Deno", "Bun", "shell") and not (
        tail in UNIQUE or f"{module}.{tail}" in (".rimraf", "rimraf.sync", ".del")
    ):
        return None
    first = args[0] if args else NOT_KNOWN
    options = args[-1].text if args and args[-1].name == "object()" else ""
    if module == "shell" and tail == "rm":
        low.run((Word("rm"), *(arg.word for arg in args)), via="shell.rm")
    elif tail in ("rimraf", "del", "sync"):
        low.delete(first.word, recursive=True, forced=True)
    elif tail in DELETE:
        whole = "recursive:true" in options or tail.startswith(("remove", "emptyDir"))
        low.delete(first.word, recursive=whole, forced="force:true" in options)
    elif tail in WRITE or (module == "Bun" and tail == "write"):
        content = args[1] if len(args) > 1 else NOT_KNOWN
        low.write(
            first.word,
            Stream(content.text if content.known else None, content.taints),
            append=tail.startswith("append"),
        )
    elif tail in READ or (module == "Bun" and tail == "file"):
        return of_stream(low.read(first.word)) if first.text != "0" else tainted("input")
    elif tail in AS_COMMAND:
        low.run((*map(Word, AS_COMMAND[tail]), *(arg.word for arg in args[:2])), via=f"{module}.{tail}")
    elif tail in ("chmod", "chmodSync"):
        mode = args[1] if len(args) > 1 else NOT_KNOWN
        text = format(mode.number, "o") if mode.number is not None else mode.text
        low.run((Word("chmod"), Word(text), first.word), via=tail)
    elif tail in ("chown", "chownSync"):
        low.permission(first.word, owner=args[1].text if len(args) > 1 else UNKNOWN)
    elif tail in ("readdir", "readdirSync"):
        return ProgramValue(element=NOT_KNOWN)
    else:
        return None
    return NOT_KNOWN


def _network(name: str, args: Args, session: JavascriptMemory) -> ProgramValue | None:
    low = session.low
    first = args[0] if args else NOT_KNOWN
    module, _, tail = name.rpartition(".")
    if name in LISTEN:
        low.emit("net.listen", name)
        return NOT_KNOWN
    if name in CONNECT:
        session.connected = True
        return tainted("remote")
    if name in ("fetch", "axios", "got", "node-fetch", "undici.fetch", "undici.request") or (
        module in ("http", "https", "axios", "got", "superagent")
        and tail in ("get", "request", "post", "put", "patch", "head", "delete")
    ):
        method = tail if module in ("axios", "got", "superagent") else ""
        options = args[-1].text.lower() if args and args[-1].name == "object()" else ""
        if method == "delete" or "method:'delete'" in options or 'method:"delete"' in options:
            low.run((Word("curl"), Word("-X"), Word("DELETE"), first.word), via=name)
        elif (
            method in ("post", "put", "patch") or "body:" in options or "method:'p" in options or 'method:"p' in options
        ):
            upload(first, all_taints(args[1:]), low)
        else:
            download(first, low)
        return ProgramValue(name="response()", taints=frozenset({"remote"}))
    return None


def _code(name: str, args: Args, low: Lowering) -> ProgramValue | None:
    if name in CODE and args:
        low.code("javascript", args[-1 if name == "Function" else 0].word, via=name)
        return NOT_KNOWN
    return None


def _plain(name: str, args: Args, low: Lowering) -> ProgramValue | None:
    first = args[0] if args else NOT_KNOWN
    match name:
        case "Buffer.from" | "atob":
            encoding = args[1].text if len(args) > 1 else ("base64" if name == "atob" else "utf8")
            if encoding in ("base64", "base64url", "hex"):
                value = decode(encoding, (first,))
                return ProgramValue(text=_utf8(value.text), taints=value.taints)
            return first
        case "String.fromCharCode" | "String.fromCodePoint":
            codes = [arg.number for arg in args]
            if all(code is not None and 0 <= code < 0x110000 for code in codes):
                return text_value("".join(chr(code) for code in codes if code is not None))
            return NOT_KNOWN
        case "os.homedir":
            return text_value(low.home)
        case "process.cwd":
            return text_value(low.cwd)
        case "path.join" | "path.resolve" | "path.posix.join":
            return text_value(join_path([arg.text for arg in args]), all_taints(args))
        case "String" | "decodeURIComponent" | "unescape" | "util.promisify":
            return first
        case "process.chdir":
            return NOT_KNOWN
        case _:
            return None


def _utf8(text: str) -> str:
    return text.encode("latin-1", "replace").decode("utf-8", "replace") if UNKNOWN not in text else text


def text_method(value: ProgramValue, name: str, args: Args) -> ProgramValue:
    """A method of a text, an array, or something that came from elsewhere."""
    first = args[0] if args else NOT_KNOWN
    taints = value.taints | all_taints(args)
    match name:
        case "join" if value.items is not None:
            out = text_value("", taints)
            separator = first if args else text_value(",")
            for index, item in enumerate(value.items):
                out = concat(out, item if index == 0 else concat(separator, item))
            return out
        case "concat" if value.items is None:
            out = value
            for arg in args:
                out = concat(out, arg)
            return out
        case "split" if value.known and args and first.known:
            parts = value.text.split(first.text) if first.text else list(value.text[:4096])
            return ProgramValue(items=tuple(text_value(part) for part in parts[:4096]), taints=taints)
        case "reverse" if value.items is not None:
            return ProgramValue(items=value.items[::-1], taints=taints)
        case "replace" | "replaceAll" if value.known and len(args) > 1 and first.known and args[1].known and first.text:
            return text_value(value.text.replace(first.text, args[1].text), taints)
        case "toString" | "trim" | "toLowerCase" | "toUpperCase" | "text" | "json":
            text = {
                "toLowerCase": value.text.lower(),
                "toUpperCase": value.text.upper(),
                "trim": value.text.strip(),
            }.get(name, value.text)
            return ProgramValue(text=text, taints=taints)
        case _:
            return ProgramValue(taints=taints)
