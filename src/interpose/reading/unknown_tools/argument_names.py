"""What the name of an argument says about its value: a command, a program, SQL, a path, an address, or prose."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from interpose.core.tool_words import word_set, words_of

_COMMAND = word_set("command commands cmd cmds commandline cmdline argv")
_SCRIPT = word_set(
    """
    script scripts shell bash sh zsh run exec powershell pwsh entrypoint startupscript userdata program
    executable binary
    """
)
_CODE = word_set(
    """
    code source src sourcecode snippet chunk python py javascript js typescript ts ruby perl php lua expression expr
    function fn cell cells program macro lambda script scripts
    """
)
_SQL = word_set("sql statement statements stmt stmts ddl dml cypher cql hql")
_QUERY = word_set("query queries q")
_PATH = word_set(
    """
    path paths file files filepath filepaths filename filenames attachment attachments dir directory folder
    localpath document documents image images screenshot notebook
    """
)
_DESTINATION = word_set(
    """
    destination dest output outfile outputfile outputpath destinationpath target targetpath saveto
    """
)
_URL = word_set("url urls uri uris href link endpoint address webhook")
_CONTENT = word_set("content contents text body data newstring newtext newcontent filetext code source value")
_ACTION = word_set("action actions operation operations op method verb api mutation act service")
_ACTION_NAMES = word_set(
    """
    operationname methodname actionname actiontype tool toolname toolslug functionname actionid apiname
    """
)
_ABOUT = word_set(
    """
    id ids name names timeout description type types output outputs result results help history count limit
    format title label status state index length size line lines number offset version date time mode hash
    """
)
"""Last words of names that say something about a command, a file or a query: `command_id`, `file_type`."""
_PROSE = word_set(
    """
    description message messages text prompt query question title subject body content contents comment comments
    note notes reason reasoning summary instruction instructions thought thoughts todo todos task tasks plan
    goal goals answer name label caption search pattern keyword keywords q topic example examples doc docs
    markdown html explanation context details review feedback observation observations fact facts memory
    entities status log logs error response oldstring newstring changelog step steps commit detail info
    hypothesis request requirements issue objective justification activeform header headline story transcript
    idea word words sentence paragraph persona tone style alt speech lyrics criteria rationale finding findings
    value values information
    """
)
"""Names under which people write sentences: a command in them is only mentioned."""
_THINGS = word_set(
    """
    file files fileid fileids item items document folder object drive resource itemid documentid folderid
    """
)
_CREDENTIAL = word_set(
    """
    authorization auth token apikey accesstoken password passwd secret credential credentials cookie bearer key
    headers header
    """
)


class ArgumentName(Struct, frozen=True):
    """The name of an argument, and what it says. One name may say several things."""

    words: tuple[str, ...]
    plain: str
    """The name without its separators."""
    is_command: bool
    is_code: bool
    is_sql: bool
    is_query: bool
    """It may be SQL: it may as well be what somebody searches for."""
    is_path: bool
    is_destination: bool
    is_url: bool
    is_content: bool
    """It may be what a file is to hold."""
    is_action: bool
    """It says what is to be done."""
    is_id: bool
    """It names a file or another thing by a number that some server gave it."""
    is_prose: bool
    """People write sentences there."""
    is_credential: bool
    """It is there to prove who calls."""


@lru_cache(maxsize=2048)
def argument_name(name: str, said: str = "") -> ArgumentName:
    """What a name says, and what a tool's schema says about this argument."""
    words = words_of(name)
    plain, last = "".join(words), words[-1] if words else ""

    def has(names: frozenset[str]) -> bool:
        return plain in names or (not names.isdisjoint(words) and last not in _ABOUT)

    def tells(*phrases: str) -> bool:
        return any(phrase in said for phrase in phrases)

    return ArgumentName(
        words,
        plain,
        is_command=has(_COMMAND) or plain in _SCRIPT or tells("shell command", "to execute"),
        is_code=has(_CODE) or tells("code to", "source code"),
        is_sql=has(_SQL) or tells("sql"),
        is_query=has(_QUERY),
        is_path=has(_PATH) or tells("file path", "path to"),
        is_destination=plain in _DESTINATION,
        is_url=has(_URL),
        is_content=plain in _CONTENT,
        is_action=has(_ACTION) or plain in _ACTION_NAMES,
        is_id=plain in ("id", "ids") or (last in ("id", "ids") and not _THINGS.isdisjoint(words)),
        is_prose=plain in _PROSE or (len(words) > 1 and last in _PROSE),
        is_credential=plain in _CREDENTIAL or last in _CREDENTIAL,
    )
