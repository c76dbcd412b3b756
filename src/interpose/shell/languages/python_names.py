"""Names of Python's library: other spellings, constants, and the calls that matter, as data."""

from __future__ import annotations

from interpose.shell.invocation import Lowering
from interpose.shell.languages.program_values import ProgramValue

_SAME = {
    "posix": "os", "nt": "os", "urllib2": "urllib.request", "posixpath": "os.path", "ntpath": "os.path",
    "_socket": "socket",
    "_posixsubprocess": "subprocess", "commands": "subprocess", "httpx": "requests", "asyncio.subprocess": "asyncio",
    "io": "builtins", "codecs.open": "open", "shelve.open": "open", "gzip.open": "open", "bz2.open": "open",
    "lzma.open": "open",
    "os.popen2": "os.popen", "os.popen3": "os.popen", "os.popen4": "os.popen",
}  # fmt: skip
_PREFIXES = ("builtins.", "__builtins__.", "__builtin__.")


def canonical(name: str) -> str:
    """One spelling for a dotted name."""
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            name = name[len(prefix) :]
    if name in _SAME:
        return _SAME[name]
    head, dot, tail = name.partition(".")
    if dot and head in _SAME:
        return canonical_tail(_SAME[head], tail)
    return name


def canonical_tail(module: str, tail: str) -> str:
    """A name inside a module whose own name was folded."""
    return tail if module == "builtins" else f"{module}.{tail}"


def constant(name: str, low: Lowering) -> ProgramValue | None:
    """The value of a name of the library that is known before the program runs."""
    match name:
        case "sys.executable":
            return ProgramValue(text="python3")
        case "os.sep" | "os.path.sep":
            return ProgramValue(text="/")
        case "os.curdir":
            return ProgramValue(text=".")
        case "os.linesep":
            return ProgramValue(text="\n")
        case "os.environ":
            return ProgramValue(name="os.environ", taints=frozenset({"env", "secret"}))
        case "os.environ[HOME]" | "os.environ[USERPROFILE]":
            return ProgramValue(text=low.home)
        case "os.environ[PWD]":
            return ProgramValue(text=low.cwd)
        case "os.environ[SHELL]":
            return ProgramValue(text="/bin/bash")
        case "sys.argv":
            return ProgramValue(name="sys.argv", taints=frozenset({"param"}))
        case "sys.stdin":
            return ProgramValue(name="file()", taints=frozenset({"input"}))
        case "signal.SIGKILL" | "signal.SIGTERM" | "signal.SIGHUP" | "signal.SIGSTOP":
            return ProgramValue(text=name.removeprefix("signal.SIG"))
        case "os.environ[XDG_CONFIG_HOME]":
            return ProgramValue(text=f"{low.home}/.config")
        case "os.environ[XDG_STATE_HOME]":
            return ProgramValue(text=f"{low.home}/.local/state")
        case _:
            return _of_our_package(name)


_PACKAGE = "/usr/lib/python3/site-packages/interpose"
_PLACES = frozenset({"__file__", "__path__", "__spec__", "origin", "__cached__"})


def _of_our_package(name: str) -> ProgramValue | None:
    """Where our own package lies: not where in truth, but a place that is known to be ours."""
    module, _, attribute = name.rpartition(".")
    parts = module.split(".")
    if parts[0] != "interpose" or attribute not in _PLACES:
        return None
    if attribute == "__spec__":
        return ProgramValue(name=name)
    ours = frozenset({"ours"})
    if attribute == "__path__":
        return ProgramValue(items=(ProgramValue(text=_PACKAGE, taints=ours),), taints=ours)
    inner = "/".join(part for part in parts[1:] if part != "__spec__")
    return ProgramValue(text=f"{_PACKAGE}/{inner or '__init__'}.py", taints=ours)


SHELL = frozenset({
    "os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput", "asyncio.create_subprocess_shell",
    "pexpect.run", "pexpect.spawn", "pexpect.runu", "invoke.run", "fabric.api.local", "os.startfile", "pty.spawn",
})  # fmt: skip
"""The first argument is given to a shell (or is a list of words)."""

SUBPROCESS = frozenset({"subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output",
                        "subprocess.Popen", "asyncio.create_subprocess_exec", "sh.Command",
                        "plumbum.local"})  # fmt: skip

EXEC = {
    **dict.fromkeys(
        ("os.execv", "os.execve", "os.execvp", "os.execvpe", "os.posix_spawn", "os.posix_spawnp"), (0, True)
    ),
    **dict.fromkeys(("os.execl", "os.execle", "os.execlp", "os.execlpe"), (0, False)),
    **dict.fromkeys(("os.spawnv", "os.spawnve", "os.spawnvp", "os.spawnvpe"), (1, True)),
    **dict.fromkeys(("os.spawnl", "os.spawnle", "os.spawnlp", "os.spawnlpe"), (1, False)),
}
"""Where the program stands among the arguments, and whether its words are a list."""

DELETE: dict[str, dict[str, bool]] = {
    "os.remove": {}, "os.unlink": {}, "os.removedirs": {},
    "shutil.rmtree": {"recursive": True, "forced": True},
    "distutils.dir_util.remove_tree": {"recursive": True, "forced": True},
    "setuptools._distutils.dir_util.remove_tree": {"recursive": True, "forced": True},
}  # fmt: skip

AS_COMMAND: dict[str, tuple[str, ...]] = {
    "os.rename": ("mv",), "os.renames": ("mv",), "os.replace": ("mv", "-f"), "shutil.move": ("mv",),
    "shutil.copy": ("cp",),
    "shutil.copy2": ("cp",), "shutil.copyfile": ("cp",), "shutil.copytree": ("cp", "-r"), "os.symlink": ("ln", "-s"),
    "os.link": ("ln",), "os.mkdir": ("mkdir",), "os.makedirs": ("mkdir", "-p"), "os.rmdir": ("rmdir",),
}  # fmt: skip
"""Calls that do what a command does with the same operands."""

READ = frozenset({"numpy.load", "pandas.read_csv", "pandas.read_json", "linecache.getlines", "fileinput.input",
                  "tokenize.open", "zipfile.ZipFile", "tarfile.open"})  # fmt: skip

HTTP = frozenset({"get", "post", "put", "patch", "delete", "head", "options", "request"})

DECODE = frozenset({
    "base64.b64decode", "base64.urlsafe_b64decode", "base64.standard_b64decode", "base64.b32decode", "base64.b16decode",
    "base64.a85decode", "base64.b85decode", "base64.decodebytes", "base64.decodestring", "binascii.unhexlify",
    "binascii.a2b_hex", "binascii.a2b_base64", "bytes.fromhex", "bytearray.fromhex", "zlib.decompress",
    "gzip.decompress", "bz2.decompress", "lzma.decompress", "codecs.decode",
})  # fmt: skip

UNPICKLE = frozenset({"pickle.loads", "pickle.load", "cPickle.loads", "marshal.loads", "dill.loads",
                      "cloudpickle.loads", "yaml.unsafe_load", "joblib.load"})  # fmt: skip

STAR_MODULES: dict[str, tuple[str, ...]] = {
    "os": ("system", "popen", "remove", "unlink", "rmdir", "removedirs", "rename", "kill", "chmod", "chown", "execv",
           "execvp", "fork", "dup2", "environ", "getcwd", "listdir", "walk", "path", "chdir", "makedirs"),
    "subprocess": ("run", "call", "check_call", "check_output", "Popen", "getoutput"),
    "shutil": ("rmtree", "move", "copy", "copytree"),
    "pathlib": ("Path",),
    "socket": ("socket", "create_connection"),
    "pty": ("spawn",),
    "base64": ("b64decode",),
}  # fmt: skip
"""What `from module import *` brings that matters here."""
