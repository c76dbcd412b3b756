"""What calls of Node's, Deno's and Bun's libraries and of well-known packages would do."""

from __future__ import annotations

from urllib.parse import unquote

from interpose.effects.invocation import EMPTY_STREAM, UNKNOWN, Lowering, Stream, Word
from interpose.effects.languages.decoding import decode
from interpose.effects.languages.javascript_network import network
from interpose.effects.languages.methods import destroys
from interpose.effects.languages.program_values import (
    NOT_KNOWN,
    ObjectFields,
    ProgramValue,
    all_taints,
    concat,
    entry,
    of_stream,
    run_list,
    run_shell,
    sql,
    tainted,
    text_value,
    variable,
)

Args = tuple[ProgramValue, ...]

_MODULES = {
    "fs/promises": "fs", "fs-extra": "fs", "graceful-fs": "fs", "memfs": "memfs", "original-fs": "fs",
    "child_process/promises": "child_process", "shelljs": "shell", "shelljs/global": "shell", "node-pty": "node-pty",
    "zx/globals": "zx", "cross-spawn": "cross-spawn", "process.binding.fs": "fs", "path/posix": "path",
    "dns/promises": "dns", "timers/promises": "timers", "undici": "undici",
}  # fmt: skip

SHELL = frozenset({"child_process.exec", "child_process.execSync", "execSync", "shell.exec", "execaCommand",
                   "execa.command", "execa.execaCommand", "execa.execaCommandSync", "Deno.run", "$.system",
                   "execa.commandSync", "exec-sh", "zx.$", "promisify-child-process.exec",
                   "WScript.Shell.Run", "std.popen"})  # fmt: skip
RUN = frozenset({"child_process.spawn", "child_process.spawnSync", "child_process.execFile",
                 "child_process.execFileSync", "execa", "execa.execa", "execa.sync", "execa.execaSync", "spawnSync",
                 "execFileSync", "execa.execaNode", "execaSync", "cross-spawn.spawn",
                 "cross-spawn", "cross-spawn.sync", "Bun.spawn", "Bun.spawnSync", "Deno.Command", "node-pty.spawn",
                 "process.binding.spawn_sync.spawn", "spawn-sync", "tinyexec.x", "nano-spawn",
                 "os.exec"})  # fmt: skip
DELETE = frozenset(
    {"rm", "rmSync", "rmdir", "rmdirSync", "unlink", "unlinkSync", "remove", "removeSync", "emptyDir", "emptyDirSync"}
)
WRITE = frozenset({"writeFile", "writeFileSync", "appendFile", "appendFileSync", "createWriteStream", "outputFile",
                   "outputFileSync", "truncate", "truncateSync", "writeJson", "writeJsonSync", "outputJson",
                   "writeTextFile", "writeTextFileSync", "writeJSON", "writeJSONSync", "ensureFile"})  # fmt: skip
READ = frozenset({"readFile", "readFileSync", "createReadStream", "readJson", "readJsonSync", "readTextFile",
                  "readTextFileSync", "readJSON", "readJSONSync", "file", "openAsBlob"})  # fmt: skip
AS_COMMAND = {"rename": ("mv",), "renameSync": ("mv",), "move": ("mv",), "moveSync": ("mv",), "copyFile": ("cp",),
              "copyFileSync": ("cp",),
              "cp": ("cp", "-rT"), "cpSync": ("cp", "-rT"), "copy": ("cp", "-rT"), "copySync": ("cp", "-rT"),
              "symlink": ("ln", "-s"),
              "symlinkSync": ("ln", "-s"), "link": ("ln",), "linkSync": ("ln",)}  # fmt: skip
UNIQUE = frozenset(
    {"rmSync", "rmdirSync", "unlinkSync", "writeFileSync", "appendFileSync", "readFileSync", "renameSync", "chmodSync"}
)
"""Names that mean the file system's function wherever they were taken from."""
_DELETERS = frozenset({"rimraf", "rimraf.sync", "rimraf.rimraf", "rimraf.rimrafSync", "rimraf.native",
                       "del", "del.sync",
                       "del.deleteAsync", "del.deleteSync", "rimraf.moveRemove", "rimraf.nativeSync", "trash",
                       "rimraf.manual", "rimraf.manualSync"})  # fmt: skip

_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish", "cmd", "powershell", "pwsh", "busybox"})
_SEARCHES = frozenset({"glob.sync", "glob.globSync", "glob", "glob.glob", "fast-glob.sync", "globby", "fs.globSync",
                       "fs.glob", "tinyglobby.globSync"})  # fmt: skip

CODE = frozenset({"eval", "vm.runInThisContext", "vm.runInNewContext", "vm.Script", "vm.compileFunction",
                  "vm.runInContext", "vm.SourceTextModule", "vm2.VM().run", "safe-eval", "require-from-string",
                  "Bun.Transpiler().transformSync", "module._compile", "repl.eval"})  # fmt: skip
"""The first argument is a program."""
LOADERS = frozenset({"require", "import", "module.require", "process.mainModule.require", "require.main.require",
                     "module.constructor._load", "module._load", "module.Module._load", "process.getBuiltinModule",
                     "process.mainModule.constructor._load", "module.parent.require", "createRequire()",
                     "module.createRequire()", "module.constructor.createRequire()", "importSync", "process.binding",
                     "process._linkedBinding", "require.cache.require"})  # fmt: skip
_DATA_FILES = (".json", ".xml", ".yaml", ".yml", ".graphql", ".txt", ".csv", ".ndjson", ".jsonl", ".sql")
_KNOWN_HOSTS = ("https://deno.land/", "https://esm.sh/", "https://jsr.io/", "https://cdn.jsdelivr.net/",
                "https://unpkg.com/", "https://cdn.skypack.dev/", "https://esm.run/",
                "https://raw.githubusercontent.com/denoland/")  # fmt: skip
"""Where programs for Deno and browsers usually get their packages."""


class JavascriptMemory:
    """What is remembered over one program."""

    def __init__(self, low: Lowering, via: str) -> None:
        self.low = low
        self.via = via
        self.acted = False
        self.seen: set[str] = set()
        self.loops = 0
        self.filtered = 0

    def finish(self) -> None:
        if "hidden" in self.seen:
            self.low.emit("opaque", self.via, certainty="possible", rule="hidden-call",
                          reason="The program reaches functions by a way that hides which")  # fmt: skip
        if {"connected", "shell"} <= self.seen:
            self.low.emit("code.remote", "socket", rule="reverse-shell", wide=True,
                          reason="This hands control of a shell to somebody on the network")  # fmt: skip


def canonical(name: str) -> str:
    """One spelling for the name of a module or of what is in it."""
    name = name.removeprefix("node:")
    name = _MODULES.get(name, name)
    for prefix in ("globalThis.", "global.", "window.", "self.", "process.mainModule.exports."):
        name = name.removeprefix(prefix)
    if name.startswith(("Bun.env", "import.meta.env")):
        name = "process.env" + name.partition("env")[2]
    return name.replace("fs.promises.", "fs.").replace(".default.", ".").removesuffix(".default")


def known_name(name: str, low: Lowering) -> ProgramValue | None:
    """The value of a name that is known before the program runs."""
    match name:
        case "process.env":
            return ProgramValue(name="process.env", taints=frozenset({"env", "secret", "environment"}))
        case "process.env.HOME" | "process.env.USERPROFILE":
            return text_value(low.home)
        case "process.env.PWD" | "__dirname" | "import.meta.dirname":
            return text_value(low.cwd)
        case "process.env.SHELL":
            return text_value("/bin/bash")
        case "process.execPath":
            return text_value("node")
        case "process.argv" | "Deno.args" | "Bun.argv":
            return tainted("param")
        case "process.stdin":
            return tainted("input")
        case "undefined":
            return ProgramValue(text="")
        case "path.sep":
            return text_value("/")
        case "process.env.toString":
            return None
        case _:
            return variable(name.removeprefix("process.env.")) if name.startswith("process.env.") else None


def call(name: str, args: Args, session: JavascriptMemory) -> ProgramValue | None:
    """State what calling `name` does and give its value; None when the name means nothing to us."""
    low = session.low
    module, _, tail = name.rpartition(".")
    if name in LOADERS:
        return load(name, args[0] if args else NOT_KNOWN, low)
    if name.endswith("createRequire"):
        return ProgramValue(name="createRequire()")
    before = session.acted
    session.acted = True
    found = (
        _processes(name, args, session)
        or _files(module, tail, args, low)
        or network(name, args, session.seen, low)
        or _code(name, args, low)
    )
    if found is not None:
        return found
    session.acted = before
    if name in ("Deno.env.toObject", "Deno.env.get", "process.env.toJSON"):
        return variable(args[0].text) if name.endswith("get") and args else known_name("process.env", low)
    if tail in ("query", "execute", "raw", "$executeRawUnsafe", "$queryRawUnsafe", "exec", "run") and args:
        sql(args[0], low, tail)
    elif destroys(tail, args, low):
        session.acted = True
        return NOT_KNOWN
    return None


def load(name: str, what: ProgramValue, low: Lowering) -> ProgramValue:
    """`require` and `import`: a module, a file, or a program in an address."""
    if not what.known:
        return ProgramValue(taints=what.taints)
    text = what.text
    if text.startswith("data:"):
        kind, _, body = text.partition(",")
        code = decode("base64", (text_value(body),)) if kind.endswith(";base64") else text_value(unquote(body))
        low.code("javascript", code.word, via=name)
        return NOT_KNOWN
    if text.startswith(("http://", "https://")):
        if not text.startswith(_KNOWN_HOSTS):
            low.emit("code.remote", text, certainty="possible", reason="Runs a module that is fetched from elsewhere")
        return NOT_KNOWN
    if text.startswith(("/", "./", "../", "file:")):
        path = text.removeprefix("file://").removeprefix("file:")
        if path.endswith((".json", ".node", ".json5")):
            return of_stream(low.read(path))
        low.run_file(path if "." in path.rpartition("/")[2] else f"{path}.js", via=name, language="javascript")
        return NOT_KNOWN
    prefix = "process.binding." if name in ("process.binding", "process._linkedBinding") else ""
    return ProgramValue(name=canonical(prefix + text))


def _started(words: Args, taints: frozenset[str] = frozenset({"output"})) -> ProgramValue:
    return ProgramValue(name="process()", fields=ObjectFields({"words": ProgramValue(items=words)}), taints=taints)


def feed(process: ProgramValue, given: ProgramValue, low: Lowering) -> None:
    """A program that was started gets input: a shell runs it."""
    words = process.fields.own.get("words") if process.fields is not None else None
    if words is not None and words.items and (given.known or given.taints):
        stdin = Stream(given.text if given.known else None, given.taints)
        low.run(tuple(word.word for word in words.items), via="stdin", stdin=stdin)


def _options(args: Args) -> ProgramValue:
    return next((arg for arg in reversed(args) if arg.entries is not None), NOT_KNOWN)


def _processes(name: str, args: Args, session: JavascriptMemory) -> ProgramValue | None:
    low = session.low
    first = args[0] if args else NOT_KNOWN
    if name == "child_process.fork" or name == "cluster.setupPrimary" or name == "cluster.setupMaster":
        _fork(name, args, session)
        return _started(())
    if name in SHELL:
        words = _listed(first, "cmd") if first.entries is not None else (text_value("sh"), text_value("-c"), first)
        return _run(name, words, _options(args), low)
    if name in RUN:
        if _is_shell(_words(args)):
            session.seen.add("shell")
        return _run(name, _words(args), _options(args), low)
    if name in ("process.chdir", "Deno.chdir"):
        low.set_cwd(first.word)
        return NOT_KNOWN
    if name == "process.kill":
        signal = args[1].text.removeprefix("SIG") if len(args) > 1 else "TERM"
        low.run((Word("kill"), Word(f"-{signal}"), Word("--"), first.word), via=name)
        return NOT_KNOWN
    return None


def _is_shell(words: Args) -> bool:
    """A shell that takes its orders from whoever is at the other end, or a program that is not known."""
    if not words or not words[0].known:
        return True
    program = words[0].text.rpartition("/")[2].removesuffix(".exe")
    return program in _SHELLS and all(word.known and word.text in ("-i", "-l", "-il") for word in words[1:])


def _words(args: Args) -> Args:
    """The words of a command: a program and a list, one list, or both in an object."""
    first = args[0] if args else NOT_KNOWN
    if first.items is not None:
        return first.items
    if first.entries is not None:
        listed = _listed(first, "cmd")
        if listed:
            return listed
        words = _listed(first, "args")
        program = entry(first, "file") or entry(first, "command")
        return (program, *words[1:]) if program is not None else words
    listed = _listed(args[1], "args") if len(args) > 1 else ()
    return (first, *listed)


def _listed(value: ProgramValue, key: str) -> Args:
    if value.entries is not None:
        found = entry(value, key)
        return found.items or () if found is not None else ()
    return value.items if value.items is not None else ((value,) if value.does is None else ())


def _run(name: str, words: Args, options: ProgramValue, low: Lowering) -> ProgramValue:
    shell = entry(options, "shell")
    if shell is not None and shell.text not in ("false", "", "0") and words[:1] != (text_value("sh"),):
        joined = words[0] if words else NOT_KNOWN
        for word in words[1:]:
            joined = concat(concat(joined, text_value(" ")), word)
        words = (text_value("sh"), text_value("-c"), joined)
    where, place = entry(options, "cwd"), low.cwd
    if where is not None and where.text:
        low.set_cwd(where.word)
    given = entry(options, "input")
    if given is not None:
        stdin = Stream(given.text if given.known else None, given.taints)
        low.run(tuple(word.word for word in words), via=name, stdin=stdin)
    elif len(words) == 3 and words[0].text == "sh" and words[1].text == "-c":
        run_shell(words[2], low, name)
    else:
        run_list(words, low, name)
    if low.cwd != place:
        low.set_cwd(place)
    text = " ".join(word.text for word in words[:3])
    fetched = {"output", "remote"} if {"curl", "wget"} & set(text[:256].split()) else {"output"}
    return _started(words, frozenset(fetched))


def _fork(name: str, args: Args, session: JavascriptMemory) -> None:
    low = session.low
    first = args[0] if args else NOT_KNOWN
    options = _options(args)
    program = entry(options, "execPath") or entry(options, "exec")
    if program is not None:
        script = (first,) if first.entries is None else ()
        run_list((program, *_listed(options, "execArgv"), *script, *_listed(options, "args")), low, name)
        return
    given = args[1].items if len(args) > 1 and args[1].items is not None else ()
    flags = entry(options, "execArgv")
    if flags is not None and flags.items:
        run_list((text_value("node"), *flags.items, first, *given), low, name)
    low.run_file(first.word, via=name, language="javascript")
    if session.loops:
        low.emit("system", "processes", rule="fork-bomb", wide=True,
                 reason="Processes that start processes without end bring the machine down")  # fmt: skip


def _files(module: str, tail: str, args: Args, low: Lowering) -> ProgramValue | None:  # noqa: C901 - one case per function
    name = f"{module}.{tail}".removeprefix(".")
    first = args[0] if args else NOT_KNOWN
    if name in _DELETERS:
        for path in (first.items if first.items is not None else (first,))[:16]:
            low.delete(ProgramValue(text=path.text, glob=path.glob or "*" in path.text).word,
                       recursive=True, forced=True)  # fmt: skip
        return NOT_KNOWN
    if name in (
        "glob.sync",
        "glob.globSync",
        "glob",
        "glob.glob",
        "fast-glob.sync",
        "globby",
        "fs.globSync",
        "fs.glob",
    ):
        return ProgramValue(element=ProgramValue(text=first.text, glob=True, taints=first.taints))
    if module not in ("fs", "Deno", "Bun", "shell") and tail not in UNIQUE:
        return None
    options = _options(args[1:])
    if module == "shell":
        return _of_shell(tail, args, low)
    if tail in DELETE:
        whole = _is_set(options, "recursive") or (tail.startswith(("remove", "emptyDir")) and module != "Deno")
        low.delete(first.word, recursive=whole, forced=_is_set(options, "force"))
    elif tail in WRITE or (module == "Bun" and tail == "write"):
        content = args[1] if len(args) > 1 and args[1].does is None else NOT_KNOWN
        text = content.text if content.known and tail != "createWriteStream" else None
        if tail.startswith("truncate"):
            low.write(first.word, EMPTY_STREAM, emptied=True)
            return NOT_KNOWN
        target = ProgramValue(text=first.text, glob=first.glob, taints=first.taints)
        low.write(target.word, Stream(text, content.taints), append=tail.startswith("append"), emptied=text == "")
    elif tail in READ:
        if first.text == "0" or first.text == "/dev/stdin":
            return tainted("input")
        found = of_stream(low.read(first.word))
        taints = found.taints if first.text.endswith(_DATA_FILES) else found.taints | {"file"}
        return ProgramValue(text=found.text, taints=taints, name="Bun.file()" if module == "Bun" else "",
                            items=(first,) if module == "Bun" else None)  # fmt: skip
    elif tail in ("open", "openSync"):
        mode = args[1] if len(args) > 1 else text_value("r")
        writes = (mode.number is not None and mode.number & 3) or (mode.known and set(mode.text) & set("wax+"))
        (low.write if writes else low.read)(first.word)
    elif tail in AS_COMMAND:
        low.run((*map(Word, AS_COMMAND[tail]), *(arg.word for arg in args[:2])), via=f"{module}.{tail}")
    elif tail in ("chmod", "chmodSync"):
        mode = args[1] if len(args) > 1 else NOT_KNOWN
        text = format(mode.number, "o") if mode.number is not None else mode.text
        low.run((Word("chmod"), Word(text), first.word), via=tail)
    elif tail in ("chown", "chownSync"):
        low.permission(first.word, owner=args[1].text if len(args) > 1 else UNKNOWN)
    elif tail in ("readdir", "readdirSync", "readDir", "readDirSync", "opendirSync"):
        return ProgramValue(element=NOT_KNOWN)
    else:
        return None
    return NOT_KNOWN


def _of_shell(tail: str, args: Args, low: Lowering) -> ProgramValue | None:
    if tail in ("rm", "mv", "cp", "ln", "chmod", "mkdir", "cat", "touch", "sed"):
        low.run((Word(tail), *(arg.word for arg in args)), via=f"shell.{tail}")
        return tainted("output")
    return None


def _is_set(options: ProgramValue, key: str) -> bool:
    """Whether an option is on. One that is computed may be."""
    found = entry(options, key)
    return found is not None and found.text not in ("false", "", "0")


def _code(name: str, args: Args, low: Lowering) -> ProgramValue | None:
    first = args[0] if args else NOT_KNOWN
    if name in ("worker_threads.Worker", "Worker", "SharedWorker"):
        if _is_set(_options(args), "eval"):
            low.code("javascript", first.word, via=name)
        elif first.text.startswith("data:"):
            load(name, first, low)
        else:
            low.run_file(first.word, via=name, language="javascript")
        return ProgramValue(taints=all_taints(args))
    if name in CODE and args and first.does is None:
        low.code("javascript", first.word, via=name)
        return NOT_KNOWN
    return None


def printed(args: Args, session: JavascriptMemory) -> ProgramValue:
    """Values go to where everybody reads them: all of the environment is what `printenv` prints."""
    taints = all_taints(args)
    if "environment" in taints or ("each-variable" in taints and not session.filtered):
        session.low.run((Word("printenv"),), via="print")
    return NOT_KNOWN
