"""Names of Python's library: other spellings, constants, and the calls that matter, as data."""

from __future__ import annotations

import string

from interpose.effects.invocation import Lowering
from interpose.effects.languages.program_values import ProgramValue

_SAME = {
    "posix": "os", "nt": "os", "urllib2": "urllib.request", "posixpath": "os.path", "ntpath": "os.path",
    "_socket": "socket", "_pickle": "pickle", "cPickle": "pickle", "_io": "builtins", "_os": "os", "_sys": "sys",
    "_posixsubprocess": "subprocess", "commands": "subprocess", "subprocess32": "subprocess", "httpx": "requests",
    "asyncio.subprocess": "asyncio", "requests.sessions": "requests", "requests.api": "requests",
    "io": "builtins", "codecs.open": "open", "shelve.open": "open", "gzip.open": "open", "bz2.open": "open",
    "lzma.open": "open", "aiofiles.open": "open", "execfile": "runpy.run_path", "_operator": "operator",
    "os.environb": "os.environ",
    "os.popen2": "os.popen", "os.popen3": "os.popen", "os.popen4": "os.popen", "platform.popen": "os.popen",
    "_ctypes": "ctypes", "imp.load_source": "importlib.load_source", "__loader__": "importlib.machinery",
}  # fmt: skip
_PREFIXES = ("builtins.", "__builtins__.", "__builtin__.", "__main__.")
_INSIDE = frozenset({"os", "_os", "sys", "_sys", "subprocess", "shutil", "_shutil", "builtins", "__builtins__",
                     "socket", "_socket", "pathlib", "importlib", "posix"})  # fmt: skip
"""Modules that other modules have among their names: `shutil.os.system`, `random._os.system`."""


def canonical(name: str) -> str:
    """One spelling for a dotted name."""
    parts = name.split(".")
    if len(parts) > 2:
        for index in range(len(parts) - 2, 0, -1):
            if parts[index] in _INSIDE and name != "urllib3.util.socket":
                name = ".".join(parts[index:])
                break
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
        case "os.environ":
            return ProgramValue(name="os.environ", taints=frozenset({"env", "secret", "environment"}))
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
        case _ if name in _TEXTS:
            return ProgramValue(text=_TEXTS[name])
        case _ if name in _FLAGS:
            return ProgramValue(text=str(_FLAGS[name]), number=_FLAGS[name])
        case _:
            return _of_our_package(name)


_TEXTS = {
    f"string.{name}": str(getattr(string, name))
    for name in ("ascii_letters", "ascii_lowercase", "ascii_uppercase", "digits", "hexdigits", "punctuation",
                 "printable", "whitespace", "octdigits")
} | {"os.sep": "/", "os.path.sep": "/", "os.curdir": ".", "os.linesep": "\n", "os.pardir": "..",
     "sys.executable": "python3", "os.devnull": "/dev/null"}  # fmt: skip
_FLAGS = {"os.O_RDONLY": 0, "os.O_WRONLY": 1, "os.O_RDWR": 2, "os.O_CREAT": 0o100, "os.O_EXCL": 0o200,
          "os.O_TRUNC": 0o1000, "os.O_APPEND": 0o2000, "os.O_NONBLOCK": 0o4000, "os.O_CLOEXEC": 0o2000000,
          "os.P_WAIT": 0, "os.P_NOWAIT": 1, "signal.SIGINT": 2}  # fmt: skip


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
    "pexpect.popen_spawn.PopenSpawn", "asyncio.subprocess.create_subprocess_shell", "delegator.run", "envoy.run",
    "fabric.api.run", "fabric.api.sudo", "fabric.operations.local", "invoke.sudo", "ptyprocess.PtyProcess.spawn",
    "xonsh.api.subprocess.run", "anyio.run_process", "trio.run_process", "winpty.PtyProcess.spawn",
})  # fmt: skip
"""The first argument is given to a shell (or is a list of words)."""

SUBPROCESS = frozenset({"subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output",
                        "subprocess.Popen", "asyncio.create_subprocess_exec", "sh.Command",
                        "plumbum.local", "distutils.spawn.spawn", "setuptools._distutils.spawn.spawn",
                        "trio.lowlevel.open_process", "psutil.Popen", "gevent.subprocess.Popen",
                        "multiprocessing.util.spawnv_passfds", "subprocess.fork_exec"})  # fmt: skip

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
    "shutil._rmtree_unsafe": {"recursive": True, "forced": True}, "shutil._rmtree_safe_fd": {"recursive": True},
    "distutils.dir_util.remove_tree": {"recursive": True, "forced": True},
    "distutils.file_util.remove": {}, "test.support.os_helper.rmtree": {"recursive": True, "forced": True},
    "test.support.rmtree": {"recursive": True, "forced": True}, "send2trash.send2trash": {"recursive": True},
    "setuptools._distutils.dir_util.remove_tree": {"recursive": True, "forced": True},
}  # fmt: skip

AS_COMMAND: dict[str, tuple[str, ...]] = {
    "os.rename": ("mv",), "os.renames": ("mv",), "os.replace": ("mv", "-f"), "shutil.move": ("mv",),
    "shutil.copy": ("cp",),
    "shutil.copy2": ("cp",), "shutil.copyfile": ("cp",), "shutil.copytree": ("cp", "-rT"), "os.symlink": ("ln", "-s"),
    "os.link": ("ln",), "os.mkdir": ("mkdir",), "os.makedirs": ("mkdir", "-p"), "os.rmdir": ("rmdir",),
    "distutils.dir_util.copy_tree": ("cp", "-r"), "distutils.file_util.copy_file": ("cp",),
    "distutils.file_util.move_file": ("mv",), "os.chroot": ("chroot",), "os.mkfifo": ("mkfifo",),
}  # fmt: skip
"""Calls that do what a command does with the same operands."""

READ = frozenset({"numpy.load", "pandas.read_csv", "pandas.read_json", "linecache.getlines", "fileinput.input",
                  "tokenize.open", "pandas.read_table", "pandas.read_pickle", "pandas.read_excel", "numpy.loadtxt",
                  "numpy.fromfile", "numpy.genfromtxt", "linecache.getline", "toml.load", "polars.read_csv",
                  "netrc.netrc", "fileinput.FileInput", "mmap.mmap", "PIL.Image.open", "torch.load", "joblib.load",
                  "ssl.SSLContext.load_cert_chain", "plistlib.readPlist"})  # fmt: skip

HTTP = frozenset({"get", "post", "put", "patch", "delete", "head", "options", "request"})

DECODE = frozenset({
    "base64.b64decode", "base64.urlsafe_b64decode", "base64.standard_b64decode", "base64.b32decode", "base64.b16decode",
    "base64.a85decode", "base64.b85decode", "base64.decodebytes", "base64.decodestring", "binascii.unhexlify",
    "binascii.a2b_hex", "binascii.a2b_base64", "bytes.fromhex", "bytearray.fromhex", "zlib.decompress",
    "gzip.decompress", "bz2.decompress", "lzma.decompress", "codecs.decode", "codecs.encode", "base64.b32hexdecode",
    "quopri.decodestring", "binascii.a2b_uu", "binascii.a2b_qp", "uu.decode",
})  # fmt: skip

UNPICKLE = frozenset({"pickle.loads", "pickle.load", "marshal.loads", "marshal.load", "dill.loads", "dill.load",
                      "cloudpickle.loads", "cloudpickle.load", "yaml.unsafe_load", "yaml.load", "yaml.full_load",
                      "jsonpickle.decode", "pickle.Unpickler", "shelve.Shelf"})  # fmt: skip

STAR_MODULES: dict[str, frozenset[str]] = {
    "os": frozenset(
        {
            "system",
            "popen",
            "remove",
            "unlink",
            "rmdir",
            "removedirs",
            "rename",
            "renames",
            "replace",
            "kill",
            "killpg",
            "chmod",
            "chown",
            "execv",
            "execve",
            "execvp",
            "execvpe",
            "execl",
            "execle",
            "execlp",
            "execlpe",
            "spawnv",
            "spawnve",
            "spawnvp",
            "spawnl",
            "spawnlp",
            "posix_spawn",
            "posix_spawnp",
            "fork",
            "dup2",
            "environ",
            "getenv",
            "getcwd",
            "listdir",
            "scandir",
            "walk",
            "path",
            "chdir",
            "makedirs",
            "mkdir",
            "truncate",
            "symlink",
            "link",
            "putenv",
        }
    ),
    "subprocess": frozenset({"run", "call", "check_call", "check_output", "Popen", "getoutput", "getstatusoutput"}),
    "shutil": frozenset({"rmtree", "move", "copy", "copy2", "copyfile", "copytree", "unpack_archive"}),
    "pathlib": frozenset({"Path", "PurePath", "PosixPath"}),
    "socket": frozenset({"socket", "create_connection", "gethostbyname"}),
    "pty": frozenset({"spawn"}),
    "base64": frozenset({"b64decode", "b32decode", "b16decode", "b85decode", "a85decode"}),
    "functools": frozenset({"partial", "reduce"}),
    "operator": frozenset({"methodcaller", "attrgetter", "itemgetter"}),
    "importlib": frozenset({"import_module"}),
    "glob": frozenset({"glob", "iglob"}),
    "urllib.request": frozenset({"urlopen", "Request", "urlretrieve"}),
    "ctypes": frozenset({"CDLL", "cdll", "PyDLL"}),
}
"""What `from module import *` brings that matters here."""
