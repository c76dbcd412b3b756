"""Calls that matter in perl, ruby, php, lua, R, julia and groovy. A leading dot matches a method of anything."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Action(Struct, frozen=True, kw_only=True):
    """What a call does with its arguments."""

    does: Literal["shell", "run", "delete", "write", "read", "open", "command", "download", "code", "file", "call"]
    """`file`: runs a file of the language; `call`: calls what is named in its arguments."""
    words: bool = True
    """More than one argument: words of a command, or several paths."""
    recursive: bool = False
    position: int = 0
    command: tuple[str, ...] = ()
    language: str = ""
    weak: bool = False
    """Others call things so, too: it counts if its first argument is known."""


_SHELL = Action(does="shell")
_RUN = Action(does="run")
_WEAK_SHELL = Action(does="shell", weak=True)
_WEAK_RUN = Action(does="run", weak=True)
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
_CHOWN = Action(does="command", command=("chown",))
_CALL = Action(does="call")


def _code(language: str) -> Action:
    return Action(does="code", language=language)


def _file(language: str) -> Action:
    return Action(does="file", language=language)


NETWORK = frozenset({"IO::Socket", "IO::Socket::INET", "IO::Socket::INET->new", "Socket", "socket", "TCPSocket",
                     "TCPSocket.new", "TCPSocket.open", "fsockopen", "pfsockopen", "socket.tcp", "socket.connect",
                     "require.socket", "stream_socket_client", "socket_create", "socket_connect", "IO::Socket::SSL",
                     "IO::Socket::IP", "IO::Socket::SSL->new", "Socket.tcp", "UDPSocket.new", "socketConnection",
                     "make.socket"})  # fmt: skip
FORK_BOMBS = ("forkwhilefork", "while(1){fork", "while1{fork", "loop{fork", "whiletrue:os.fork", "fork()whilefork()",
              "while(fork", "loopdofork", "while(true){pcntl_fork", "forkwhile1", "forkwhiletrue", "forkwhile(1)",
              "forkuntil0", "for(;;){fork", "while(1){pcntl_fork", "for(;;)pcntl_fork", "while(1)pcntl_fork",
              "while(true)pcntl_fork", "forkfor(;;)", "{fork;redo}", "{fork();redo}", "forkforever",
              "loop{Process.fork", "whiletruedofork", "whiletrue;fork", "fork;redo")  # fmt: skip

SEARCHES = frozenset(
    {"glob", "Dir.glob", "Dir", "Dir.children", "Dir.each_child", "Dir.entries", "Dir.foreach", "Find.find",
     "list.files", "list.dirs", "dir", "readdir", "opendir", "scandir", "find", "finddepth", "File::Find::find",
     "File::Find::finddepth", "walkdir", "RecursiveDirectoryIterator", "DirectoryIterator", "FilesystemIterator",
     "lfs.dir", "Path.wildcard", "File.ls!", "File.ls", "Pathname.glob", "File::Find::Rule", "path", "eachFileRecurse",
     "fs::dir_ls"}
)  # fmt: skip
"""Calls whose result is what is removed one by one."""
WALKS = frozenset(
    {"Find.find", "find", "finddepth", "File::Find::find", "File::Find::finddepth", "walkdir",
     "RecursiveDirectoryIterator", "eachFileRecurse"}
)  # fmt: skip
"""Of these, the ones that go into every directory below."""
DELETED_CALLS = ("unlink", "rmdir")
SENDERS = frozenset(
    {"post", "put", "post_form", "upload", "sendmail", "mail", "urlopen", "request", "get", "open", "getstore",
     "curl_init", "curl_setopt", "curl_exec", "fsockopen", "pfsockopen", "tcpsocket", "sendto", "send", "socket",
     "useragent", "tiny", "ftp", "smtp", "putbinaryfile", "puttextfile", "download", "httpclient", "urlread",
     "stream_socket_client", "file_get_contents", "file_put_contents", "form_post", "http", "uri", "connect",
     "socketconnection", "readlines", "download.file", "fetch", "url"}
)  # fmt: skip
"""Last parts of the names, in small letters, of what sends or fetches in these languages."""
STRONG_SENDERS = frozenset({"post", "put", "post_form", "mail", "sendmail", "upload", "putbinaryfile"})
DUMPS = frozenset({"to_h", "to_a", "each", "each_pair", "map", "inspect", "to_s", "values", "pretty_inspect"})
"""Methods of the environment that give all of it."""
AUTHORIZED = ("authorization", "bearer", "x-api-key", "private-token", "x-auth-token", "basic_auth", "set_auth")
"""What a program names that uses a token to log in."""

TABLES: dict[str, dict[str, Action]] = {
    "perl": {
        "system": _SHELL, "exec": _SHELL, "CORE::system": _SHELL, "CORE::exec": _SHELL, "open": _OPEN,
        "open2": Action(does="shell", position=2), "open3": Action(does="shell", position=3),
        "unlink": _DELETE, "rmdir": _RMDIR, "rmtree": _TREE, "remove_tree": _TREE, "File::Path::rmtree": _TREE,
        "File::Path::remove_tree": _TREE, ".remove_tree": _TREE, ".rmtree": _TREE, "rename": _MOVE, "move": _MOVE,
        "chmod": _CHMOD, "kill": Action(does="command", command=("kill", "-s")), "readpipe": _SHELL,
        "truncate": _WRITE, "eval": _code("perl"), "getstore": _DOWNLOAD, ".remove": _DELETE,
        "chown": _CHOWN, "shell": _WEAK_SHELL, "spurt": _WRITE, "do": _file("perl"), "require": _file("perl"),
        "copy": _COPY, "fmove": _MOVE,
        "run": _WEAK_RUN, "run3": _WEAK_RUN, "capture": _WEAK_SHELL, "capturex": _WEAK_RUN, "systemx": _WEAK_RUN,
        "IPC::Open3::open3": Action(does="shell", position=3), "IPC::Open2::open2": Action(does="shell", position=2),
        "CORE::GLOBAL::system": _SHELL, "POSIX::system": _SHELL,
        "POSIX::execvp": _RUN, "POSIX::remove": _DELETE_ONE, "File::Copy::move": _MOVE, "dirmove": _MOVE,
        "pathrmdir": _TREE, "pathempty": _TREE, "fcopy": _COPY, "slurp": _READ, "read_file": _READ,
        "write_file": _WRITE,
        "write_text": _WRITE, "sysopen": _OPEN, "symlink": Action(does="command", command=("ln", "-s")),
        "can": _CALL, "IO::File->new": _OPEN, "IO::Pipe": _SHELL, ".reader": _WEAK_RUN, ".writer": _WEAK_RUN,
        "File::Slurp::read_file": _READ, "Mojo::File->new": _READ,
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
        "Process.kill": Action(does="command", command=("kill", "-s")), "eval": _code("ruby"),
        "Kernel.eval": _code("ruby"), "instance_eval": _code("ruby"), "class_eval": _code("ruby"),
        "module_eval": _code("ruby"), "TOPLEVEL_BINDING.eval": _code("ruby"), ".eval": _code("ruby"),
        "Process.exec": _SHELL, "Kernel.spawn": _SHELL, "Kernel.open": _OPEN, "Kernel.`": _SHELL,
        "Open3.popen2": _SHELL, "Open3.popen2e": _SHELL, "Open3.pipeline": _SHELL, "Open3.pipeline_r": _SHELL,
        "Open3.pipeline_start": _SHELL, "PTY.getpty": _SHELL, "sh": _WEAK_SHELL, "Rake.sh": _SHELL,
        "send": _CALL, "public_send": _CALL, "__send__": _CALL, ".send": _CALL, ".public_send": _CALL,
        ".__send__": _CALL, "method": _CALL, ".method": _CALL, "instance_method": _CALL, ".instance_method": _CALL,
        "load": _file("ruby"), "require": _file("ruby"), "require_relative": _file("ruby"),
        "IO.binwrite": _WRITE, "IO.binread": _READ, "IO.foreach": _READ, "File.foreach": _READ,
        "FileUtils.safe_unlink": _DELETE, "FileUtils.remove_file": _DELETE, "rmtree": _TREE, "remove_dir": _TREE,
        "remove_entry": _TREE, "rm_f": _DELETE, "rm": _DELETE, "FileUtils.chown_R": Action(does="command",
            command=("chown", "-R")), "FileUtils.chown": _CHOWN, "chmod_R": Action(does="command", command=("chmod",
            "-R")),
        "FileUtils.move": _MOVE, "FileUtils.copy": _COPY, "File.symlink": Action(does="command", command=("ln", "-s")),
        "FileUtils.ln_s": Action(does="command", command=("ln", "-s")), "IO.copy_stream": _COPY,
        "File.rm_r": _TREE, "File.rm_r!": _TREE,
        "File.rmdir!": _RMDIR, "Port.open": _SHELL, "Code.eval_string": _code("ruby"), "Code.eval_file": _file("ruby"),
        "Code.compile_string": _code("ruby"), "Code.require_file": _file("ruby"), ".os.cmd": _SHELL, "apply": _CALL,
        "Process.run": _WEAK_RUN, "Process.new": _WEAK_RUN, "File.cp_r!": _COPY, "File.rename!": _MOVE,
        "Kernel.apply": _CALL,
        ".putbinaryfile": _READ, ".puttextfile": _READ, ".upload!": _READ,
        "URI.open": _DOWNLOAD, "Net::HTTP.get": _DOWNLOAD,
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
        "fopen": _OPEN, "rename": _MOVE, "copy": _COPY, "eval": _code("php"), "assert": _code("php"),
        "create_function": Action(does="code", language="php", position=1), "include": _file("php"),
        "include_once": _file("php"),
        "require": _file("php"), "require_once": _file("php"), "chmod": _CHMOD, "chown": _CHOWN,
        "parse_ini_file": _READ, "highlight_file": _READ, "show_source": _READ, "symlink": Action(does="command",
            command=("ln", "-s")), "expect_popen": _SHELL, ".system": _SHELL, "posix_kill": Action(does="command",
            command=("kill",)), "SplFileObject": _OPEN, "Process": _WEAK_RUN, "Process::fromShellCommandline": _SHELL,
        "File::deleteDirectory": _TREE, "Storage::deleteDirectory": _TREE, ".deleteDirectory": _TREE,
        "File::cleanDirectory": _TREE, "File::delete": _DELETE, "Process::run": _SHELL,
        **dict.fromkeys(
            ("call_user_func", "call_user_func_array", "forward_static_call", "forward_static_call_array", "array_map",
             "array_walk", "array_filter", "array_reduce", "array_walk_recursive", "usort", "uasort", "uksort",
             "register_shutdown_function", "register_tick_function", "set_error_handler", "set_exception_handler",
             "spl_autoload_register", "ob_start", "iterator_apply", "preg_replace_callback", "func_overload",
             "ReflectionFunction", "ReflectionMethod", "Closure::fromCallable", "is_callable", "array_diff_ukey",
             "array_udiff", "array_uintersect", "mb_ereg_replace_callback", "header_register_callback"), _CALL),
    },
    "lua": {
        "os.execute": _SHELL, "io.popen": _SHELL, "os.remove": _DELETE, "os.rename": _MOVE, "io.open": _OPEN,
        "io.lines": _READ,
        "loadstring": _code("lua"), "load": _code("lua"), "dofile": _file("lua"), "loadfile": _file("lua"),
        "lfs.rmdir": _RMDIR, "io.input": _READ, "io.output": _WRITE, "posix.exec": _RUN, "posix.execp": _RUN,
        "posix.spawn": _RUN, "posix.unlink": _DELETE_ONE, "posix.rmdir": _RMDIR, "require": _file("lua"),
        "vim.fn.system": _SHELL, "vim.fn.delete": _TREE, "vim.system": _RUN, "os.run": _SHELL,
        "ffi.C.system": _SHELL, "C.system": _SHELL, ".system": _SHELL, "pl.dir.rmtree": _TREE, "dir.rmtree": _TREE,
        "path.rmdir": _RMDIR, "pcall": _CALL, "xpcall": _CALL, "love.filesystem.remove": _DELETE_ONE,
    },
    "r": {
        "system": _SHELL, "system2": _RUN, "shell": _SHELL, "unlink": _TREE, "file.remove": _DELETE,
        "writeLines": Action(does="write", position=1),
        "readLines": _READ, "download.file": _DOWNLOAD, "file.rename": _MOVE, "file.copy": _COPY,
        "fs::dir_delete": _TREE,
        "fs::file_delete": _DELETE, "readRDS": _READ, "processx::run": _RUN, "pipe": _WEAK_SHELL,
        "base::system": _SHELL,
        "base::system2": _RUN, "base::unlink": _TREE, "sys::exec_wait": _RUN, "sys::exec_internal": _RUN,
        "sys::exec_background": _RUN, "exec_wait": _RUN, "processx::process$new": _RUN, "callr::rcmd": _RUN,
        "shell.exec": _SHELL, "source": _file("r"), "sys.source": _file("r"), "eval": _code("r"), "parse": _code("r"),
        "str2lang": _code("r"), "str2expression": _code("r"), "do.call": _CALL, "match.fun": _CALL, "lapply": _CALL,
        "sapply": _CALL, "Reduce": _CALL, "Map": _CALL, "file": _OPEN, "scan": _READ, "readChar": _READ,
        "read.csv": _READ, "read.table": _READ, "readBin": _READ, "write": Action(does="write", position=1),
        "write.csv": Action(does="write", position=1), "saveRDS": Action(does="write", position=1), "sink": _WRITE,
        "file.create": _WRITE, "Sys.chmod": _CHMOD, "file.symlink": Action(does="command", command=("ln", "-s")),
        "devtools::source_url": Action(does="code", language="r"), "source_url": Action(does="code", language="r"),
        "dyn.load": _READ, "tools::pskill": Action(does="command", command=("kill",)),
    },
    "julia": {
        "rm": _TREE, "write": _WRITE, "read": _READ, "readlines": _READ, "open": _OPEN, "mv": _MOVE, "cp": _COPY,
        "chmod": _CHMOD,
        "download": _DOWNLOAD, "Base.rm": _TREE, "include_string": _code("julia"), "include": _file("julia"),
        "Cmd": _WEAK_RUN, "Meta.parse": _code("julia"), "readdlm": _READ,
        "read!": _READ, "eachline": _READ, "Base.Filesystem.rm": _TREE, "ccall": _CALL,
        "Downloads.download": _DOWNLOAD, "Base.download": _DOWNLOAD, "symlink": Action(does="command",
            command=("ln", "-s")), "getfield": _CALL, "getproperty": _CALL, "@eval": _CALL, "invokelatest": _CALL,
        "Base.invokelatest": _CALL, "unlink": _DELETE_ONE,
    },
    "groovy": {
        "Runtime.getRuntime": _SHELL, ".exec": _SHELL, ".deleteDir": Action(does="delete", recursive=True, words=False),
        "deleteDir": Action(does="delete", recursive=True, words=False), "evaluate": _code("groovy"),
        "ProcessBuilder": _RUN, "Eval.me": _code("groovy"), ".evaluate": _code("groovy"),
        ".deleteOnExit": _DELETE_ONE, "Files.delete": _DELETE_ONE, "FileUtils.deleteDirectory": _TREE,
        "FileUtils.cleanDirectory": _TREE, "sh": _WEAK_SHELL,
        ".deleteTree": _TREE, ".delete": Action(does="delete", words=False, weak=True), ".execute": _WEAK_RUN,
        "AntBuilder": _CALL, ".withWriter": _WRITE,
        ".invokeMethod": _CALL, ".parse": _code("groovy"),
        "GroovyShell": _CALL, "Runtime.runtime.exec": _SHELL, "File": _READ,
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
