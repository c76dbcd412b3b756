"""Languages that nobody here reads: what their calls are named tells what they do with the constants in them.

One reader for all of them (Go, Rust, Java, C#, Haskell, Lisps, Prolog, Octave, ...). Every way to start a program, to
delete a tree, to read a file and to send something has one of a few dozen names, whatever the language. A statement
with such a name and with constants is understood; the rest is left to the last look (shell/last_look.py).
"""

from __future__ import annotations

from shlex import quote

from msgspec import Struct

from interpose.effects.handler_table import HANDLERS
from interpose.effects.invocation import UNKNOWN, Lowering, Word
from interpose.effects.languages.generic_tables import AUTHORIZED
from interpose.effects.languages.methods import destroys
from interpose.effects.languages.program_values import sql_beside
from interpose.effects.languages.tokens import TOKENS, ProgramToken, TokenRules, tokens
from interpose.effects.paths import secret_of
from interpose.effects.secret_names import is_secret_name

_RULES = TokenRules(comments=(), backticks=False, holes=(), joiners=("::", "->", ".", ":"), quotes='"', letters="-/!?*")
_SINGLE = TokenRules(comments=(), backticks=False, holes=(), joiners=("::", "->", ".", ":"), quotes="'\"", letters="!?")
MAX_STATEMENT = 80
"""How many tokens one statement is read."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_RUN = _names(
    """
    system shell shellcommand shellcommandtostring syscmd esyscmd unix dos popen wordexp oscmd callcommand
    spawncommand readcreateprocess rawsystem readprocess readprocesswithexitcode createprocess runprogram
    runshellcommand execshellcmd execcmd execcmdex execprocess startprocess gorge gorgeex staticexec spawnshell
    executeshell runshell shellout callprocess processbuilder posixspawn execvp execv execve execl execlp execlpe
    executeprocess spawnprocess spawnprocessshell pipeprocess pipeshell opensubprocess openinputfile
    openpipe openprocess runcommand runprocess system* process* process*/ports shell* commandnew
    syscommand unixsystem opencommand openprocessin openprocessout startcommand executecommand runsystemcommand
    sqlsystemexec command commandoutput execcommand execcommandcontext getruntimeexec execsync
    rshell invokeshell spawnwait processspawn processrun processstart processexec
    """
)
"""Names of what starts a program, in small letters without dashes and underscores."""
_MAY_RUN = _names(
    "run exec execute spawn start sh cmd process proc call launch arg args invoke qx bash $ ! !! !< lineStream "
    "async open eval evaluate interpret command new zsh capture runsh shout shellexecute"
)
"""Names that start a program if what they are given looks like one."""
_PARTS = _names("plaunchpath launchpath parguments executableurl pexecutableurl argumentlist filename startinfo")
"""Names by which a program and its words are given one after the other."""
_SURELY = _names("shell popen callcommand shellcommand execshellcmd oscmd spawncommand executeshell runshellcommand")
_OWNERS = _names("command processbuilder runtime popen")
_TREES = _names(
    """
    rmtree removetree rmrf rmr rmrf! deletedir deletedirectory removedirectoryrecursive removedirectory removeall
    removedirall deleterecursively removedir rmdirrecurse deletefolder deletetree deletedirectoryrecursively
    deldirr deletedirectory/files deletedirectorytree removepathforcibly cleandirectory removeitematpath
    removeitematpatherror removeitematurlerror removeitem rmdirr removerecursive deleteall rmtree! removerecursively
    trashitematurlresultingitemurlerror confirmrecursivermdir removetreedirectory rimraf wipedirectory deltree rmrf?
    deletedirectoryandcontents deletedirectorycontents recursivedelete deleterecursive
    """
)
_FILES = _names(
    "unlink deletefile removefile deleteifexists unlinksync filedelete osremove fsremovefile filesdelete remove/file "
    "sysremove ioremove removefileat"
)
_READS = _names(
    """
    readfile readtext slurp readalltext readallbytes readalllines readtostring fopen fileread filetostring readlines
    fromfile openfile open load include includestr includebytes filereader bufferedreader readstring readbytes
    readwholefile fileopen openin withfile getcontents callwithinputfile importdata textscan csvread readmatrix
    fileinputstream filestream streamreader readfilesync consult see openread readallbytes filegetcontents tostring
    filesreadstring filesreadallbytes file:readfile filereadtext osopen osreadfile ioutilreadfile fsread filecat
    fsreadtostring fileread! read! readtext! slurpfile getfilecontents callwithopenfile url-fetch
    """
)
_SENDS = _names(
    """
    post put send upload request urlopen httppost webwrite webread urlread urlwrite fetch connect dial dialtcp
    newrequest postform sendasync uploadstring uploaddata uploadfile poststring httpput httprequest tcpclient tcpstream
    socket clientpost reqwest ureq httpclient tcpconnect opentcp openhttp httpget get postasync
    putstring hcsend sendto tcpsocket networkstream webclient httpcall httpsend gentcpsend gentcpconnect httpc:request
    """
)
_ENVIRONMENT = _names("getenv osgetenv systemgetenv getenvvar env envvar systemgetenv! stdenv stdenvvar lookupenv "
                      "getenvironmentvariable environ osenviron getenvironment getenvironmentvariables sysgetenv "
                      "processenvironment environment sysenv")  # fmt: skip


class Statement(Struct):
    """The names and constants of one statement, in order."""

    names: list[str]
    strings: list[str]


def lower(code: str, low: Lowering, via: str) -> None:
    """State what a program does whose strings stand in double quotes."""
    _read(code, low, via, _RULES)


def lower_quoted(code: str, low: Lowering, via: str) -> None:
    """The same for languages in which single quotes hold strings, too."""
    _read(code, low, via, _SINGLE)


def _read(code: str, low: Lowering, via: str, rules: TokenRules) -> None:
    secret = sends = in_file = False
    address = UNKNOWN
    understood = False
    parts: list[str] = []
    found = tokens(code, rules)
    low.spend(len(found) // TOKENS)
    for statement in _statements(found):
        every = {called for name in statement.names for called in _called(name)}
        for text in statement.strings:
            if "://" in text:
                address = text
            else:
                sql_beside(statement.names, text, low)
        if every & _PARTS:
            parts.extend(text for text in statement.strings if text.strip())
        elif "processcreate" in every:
            parts.extend((*(name for name in statement.names if name in HANDLERS), *statement.strings))
        else:
            understood |= _runs(statement, every, low, via)
        understood |= _deletes(statement, every, low)
        if every & _READS:
            for text in statement.strings:
                if secret_of(low.path(text), low.home):
                    low.read(Word(text, quoted=True))
                    secret = in_file = True
        for name in statement.names:
            destroys(name.rpartition(".")[2], (), low)
        if every & _ENVIRONMENT:
            asked = [text for text in statement.strings if is_secret_name(text)]
            secret = secret or bool(asked) or not statement.strings
        addressed = any("://" in text for text in statement.strings)
        sends = sends or bool(every & _SENDS) or (addressed and bool(every & (_READS | {"fromurl", "url", "uri"})))
    if parts and _starts_command(parts[0]):
        understood = True
        words = [word for part in parts for word in (part.split() if part.startswith("-") else [part])]
        low.run(tuple(Word(word, quoted=True) for word in words), via=via)
    if sends and secret and (in_file or not any(mark in code.lower() for mark in AUTHORIZED)):
        low.emit("net.upload", address, certainty="possible", secret=True)
    if not understood:
        # Nothing in it was found to run: what it holds is looked at once more, and nobody is asked for that alone.
        low.emit("opaque", via, certainty="possible", rule="foreign-code", recoverable=True,
                 reason="A program in a language that is not read here")  # fmt: skip


def _statements(found: list[ProgramToken]) -> list[Statement]:
    """Cut where a statement ends: at a semicolon, a new line, or after too much."""
    done: list[Statement] = []
    current = Statement([], [])
    count = depth = 0
    for token in found:
        count += 1
        if token.kind == "mark" and token.text in "[]()":
            depth = max(0, depth + (1 if token.text in "[(" else -1))
        # A semicolon in brackets parts the elements of a list in OCaml.
        if (token.kind == "mark" and token.text in ";\n" and not depth) or count > MAX_STATEMENT:
            if current.strings or current.names:
                done.append(current)
            current, count = Statement([], []), 0
        if token.kind == "string":
            current.strings.append(token.text)
        elif token.kind == "name":
            current.names.append(token.text)
        elif token.text == "!" and current.strings:
            current.names.append("!")
    if current.strings or current.names:
        done.append(current)
    return done


def _called(name: str) -> tuple[str, ...]:
    """What a dotted name may be known as: as a whole, by its last part, and by a class that starts programs."""
    parts = name.lower().replace("::", ".").replace("->", ".").replace(":", ".").replace("_", "").replace("-", "")
    pieces = parts.split(".")
    tail = pieces[-1]
    owners = tuple(piece for piece in pieces[:-1] if piece in _OWNERS)
    return ("".join(pieces), tail, tail.rpartition("/")[2], *owners)


def _runs(statement: Statement, names: set[str], low: Lowering, via: str) -> bool:
    """Run every constant of a statement that is a command, or the words of one."""
    sure = bool(names & _RUN)
    if not sure and not names & _MAY_RUN:
        return False
    strings = statement.strings
    index, ran = 0, False
    while index < len(strings):
        text = strings[index]
        index += 1
        if not _starts_command(text):
            continue
        if " " in text.strip():
            if all(word.startswith("-") for word in text.split()[1:]):
                text = " ".join((text, *(quote(word) for word in strings[index : index + 4])))  # the rest of it follows
            low.shell(Word(text), via=via)
            ran = True
        elif index < len(strings):
            end = index
            while end < len(strings) and not (_starts_command(strings[end]) and " " in strings[end].strip()):
                end += 1
            if end == index:
                continue
            rest = strings[index:end]
            if len(rest) == 1 and rest[0].startswith("-") and " " in rest[0]:
                rest = rest[0].split()
            low.run((Word(text), *(Word(word, quoted=True) for word in rest)), via=via)
            index, ran = end, True
    if sure and not strings and names & _SURELY:
        low.emit("opaque", via, certainty="unknown", rule="unknown-code",
                 reason="Starts a program that only shows when it runs")  # fmt: skip
        return True
    return ran


def _starts_command(text: str) -> bool:
    first = text.split(None, 1)
    return bool(first) and first[0].rpartition("/")[2] in HANDLERS


def _deletes(statement: Statement, names: set[str], low: Lowering) -> bool:
    whole = bool(names & _TREES) or any(name.endswith("directorydelete") for name in names)
    if not whole and not names & _FILES and not names & {"delete", "rmdir"}:
        return False
    paths = [text for text in statement.strings if text.startswith(("/", "~", "./", "../", "C:")) or whole]
    for path in paths[:4]:
        if " " in path and not path.startswith(("/", "~")):
            continue
        tree = whole or ("rmdir" in names and "s" in statement.strings)
        low.delete(Word(path, glob="*" in path, quoted=True), recursive=tree, forced=tree)
    return bool(paths)
