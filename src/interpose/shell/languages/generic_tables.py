"""Calls that matter in perl, ruby, php, lua, R, julia and groovy. A leading dot matches a method of anything."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Action(Struct, frozen=True, kw_only=True):
    """What a call does with its arguments."""

    does: Literal["shell", "run", "delete", "write", "read", "open", "command", "download", "code"]
    words: bool = True
    """More than one argument: words of a command, or several paths."""
    recursive: bool = False
    position: int = 0
    command: tuple[str, ...] = ()
    language: str = ""


_SHELL = Action(does="shell")
_RUN = Action(does="run")
_DELETE = Action(does="delete")
_DELETE_ONE = Action(does="delete", words=False)
_TREE = Action(does="delete", recursive=True, words=False)
_WRITE = Action(does="write")
_READ = Action(does="read")
_OPEN = Action(does="open")
_DOWNLOAD = Action(does="download")
_MOVE = Action(does="command", command=("mv",))
_COPY = Action(does="command", command=("cp", "-r"))
_RMDIR = Action(does="command", command=("rmdir",))
_CHMOD = Action(does="command", command=("chmod",))

NETWORK = frozenset({"IO::Socket", "IO::Socket::INET", "IO::Socket::INET->new", "Socket", "socket", "TCPSocket",
                     "TCPSocket.new", "TCPSocket.open", "fsockopen", "pfsockopen", "socket.tcp", "socket.connect",
                     "require.socket", "stream_socket_client"})  # fmt: skip
FORK_BOMBS = ("forkwhilefork", "while(1){fork", "while1{fork", "loop{fork", "whiletrue:os.fork", "fork()whilefork()",
              "while(fork", "loopdofork", "while(true){pcntl_fork")  # fmt: skip

TABLES: dict[str, dict[str, Action]] = {
    "perl": {
        "system": _SHELL, "exec": _SHELL, "CORE::system": _SHELL, "CORE::exec": _SHELL, "open": _OPEN, "open2": _SHELL,
        "open3": _SHELL,
        "unlink": _DELETE, "rmdir": _RMDIR, "rmtree": _TREE, "remove_tree": _TREE, "File::Path::rmtree": _TREE,
        "File::Path::remove_tree": _TREE, ".remove_tree": _TREE, ".rmtree": _TREE, "rename": _MOVE, "move": _MOVE,
        "chmod": _CHMOD, "kill": Action(does="command", command=("kill", "-s")), "readpipe": _SHELL,
        "truncate": _WRITE, "eval": Action(does="code", language="perl"), "getstore": _DOWNLOAD, ".remove": _DELETE,
    },
    "ruby": {
        "system": _SHELL, "exec": _SHELL, "spawn": _SHELL, "Kernel.system": _SHELL, "Kernel.exec": _SHELL,
        "Process.spawn": _SHELL,
        "IO.popen": _SHELL, "Open3.capture2": _SHELL, "Open3.capture3": _SHELL, "Open3.capture2e": _SHELL,
        "Open3.popen3": _SHELL,
        "PTY.spawn": _SHELL, "File.delete": _DELETE, "File.unlink": _DELETE, "FileUtils.rm": _DELETE,
        "FileUtils.rm_f": _DELETE,
        "FileUtils.rm_r": _TREE, "FileUtils.rm_rf": _TREE, "FileUtils.rmtree": _TREE, "FileUtils.remove_dir": _TREE,
        "FileUtils.remove_entry": _TREE, "FileUtils.remove_entry_secure": _TREE, "FileUtils.remove": _DELETE,
        "rm_rf": _TREE,
        "rm_r": _TREE, "Dir.rmdir": _RMDIR, "Dir.delete": _RMDIR, "Dir.unlink": _RMDIR, "File.write": _WRITE,
        "IO.write": _WRITE,
        "File.binwrite": _WRITE, "File.open": _OPEN, "File.new": _OPEN, "File.read": _READ, "IO.read": _READ,
        "File.readlines": _READ,
        "IO.readlines": _READ, "File.binread": _READ, "File.rename": _MOVE, "FileUtils.mv": _MOVE,
        "FileUtils.cp_r": _COPY,
        "FileUtils.cp": _COPY, "File.chmod": _CHMOD, "FileUtils.chmod": _CHMOD,
        "FileUtils.chmod_R": Action(does="command", command=("chmod", "-R")), "File.truncate": _WRITE,
        "Process.kill": Action(does="command", command=("kill", "-s")), "eval": Action(does="code", language="ruby"),
        "instance_eval": Action(does="code", language="ruby"), "URI.open": _DOWNLOAD, "Net::HTTP.get": _DOWNLOAD,
        "open": _OPEN,
        "Pathname.rmtree": _TREE, ".rmtree": _TREE, "System.cmd": _RUN, "System.shell": _SHELL, "File.rm!": _DELETE_ONE,
        "File.rm": _DELETE_ONE, "File.rm_rf!": _TREE, "File.rm_rf": _TREE, "File.write!": _WRITE, "File.read!": _READ,
        "os.cmd": _SHELL,
    },
    "php": {
        "system": _SHELL, "exec": _SHELL, "shell_exec": _SHELL, "passthru": _SHELL, "popen": _SHELL,
        "proc_open": _SHELL, "pcntl_exec": _SHELL,
        "unlink": _DELETE, "rmdir": _RMDIR, "file_put_contents": _WRITE, "file_get_contents": _READ, "readfile": _READ,
        "file": _READ,
        "fopen": _OPEN, "rename": _MOVE, "copy": _COPY, "eval": Action(does="code", language="php"),
        "assert": Action(does="code", language="php"), "array_map": Action(does="delete", position=1),
    },
    "lua": {
        "os.execute": _SHELL, "io.popen": _SHELL, "os.remove": _DELETE, "os.rename": _MOVE, "io.open": _OPEN,
        "io.lines": _READ,
        "loadstring": Action(does="code", language="lua"), "load": Action(does="code", language="lua"), "dofile": _READ,
        "lfs.rmdir": _RMDIR,
    },
    "r": {
        "system": _SHELL, "system2": _RUN, "shell": _SHELL, "unlink": _TREE, "file.remove": _DELETE,
        "writeLines": Action(does="write", position=1),
        "readLines": _READ, "download.file": _DOWNLOAD, "file.rename": _MOVE, "file.copy": _COPY,
        "fs::dir_delete": _TREE,
        "fs::file_delete": _DELETE, "readRDS": _READ, "processx::run": _RUN,
    },
    "julia": {
        "rm": _TREE, "write": _WRITE, "read": _READ, "readlines": _READ, "open": _OPEN, "mv": _MOVE, "cp": _COPY,
        "chmod": _CHMOD,
        "download": _DOWNLOAD, "Base.rm": _TREE, "include_string": Action(does="code", language="julia", position=1),
    },
    "groovy": {
        "Runtime.getRuntime": _SHELL, ".exec": _SHELL, ".deleteDir": Action(does="delete", recursive=True, words=False),
        "deleteDir": Action(does="delete", recursive=True, words=False), "evaluate": Action(does="code",
            language="groovy"),
    },
    "python": {
        "os.system": _SHELL, "os.popen": _SHELL, "subprocess.call": _SHELL, "subprocess.Popen": _SHELL,
        "subprocess.check_output": _SHELL,
        "subprocess.check_call": _SHELL, "subprocess.run": _SHELL, "commands.getoutput": _SHELL,
        "shutil.rmtree": _TREE, "rmtree": _TREE,
        "os.remove": _DELETE_ONE, "os.unlink": _DELETE_ONE, "os.rmdir": _RMDIR, "os.rename": _MOVE,
        "shutil.move": _MOVE, "open": _OPEN,
        "file": _OPEN, "execfile": _READ, "system": _SHELL, "popen": _SHELL, "pty.spawn": _SHELL,
        "exec": Action(does="code", language="python"), "eval": Action(does="code", language="python"),
    },
}  # fmt: skip
