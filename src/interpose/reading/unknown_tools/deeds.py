"""What a tool does by the words of its name: `delete_repository` destroys, `send_email` reaches people.

The first verb of a name decides. What looks, thinks or asks passes, whatever it looks for. A verb that destroys, pays,
speaks to others or lets somebody in is an effect; some verbs only with an object (`create` is harmless,
`create_payment` is not). What an argument such as `action` names is read in the same way, beside the name.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from interpose.core.tool_words import words_of
from interpose.core.types import Certainty, Effect, EffectKind, FrozenDict
from interpose.reading.unknown_tools import deed_words as told
from interpose.reading.unknown_tools.argument_names import argument_name
from interpose.reading.unknown_tools.arguments import Leaf
from interpose.reading.unknown_tools.program_words import BROWSERS
from interpose.reading.unknown_tools.programs import is_shell
from interpose.reading.unknown_tools.tool_names import ToolWords

_LONGEST_ACTION = 60
_NOTHING: frozenset[str] = frozenset()
_TOLD_TOGETHER = ({"variables", "environment"}, {"connection", "string"}, {"export", "wallet"}, {"export", "keys"})
_DOCUMENTS = frozenset({"pdf", "file", "document", "message", "archive", "zip"})
_AND = frozenset({"and", "then", "or"})
_PUTS_OUT = frozenset({"create", "submit", "add", "schedule"})
_METHODS = frozenset({"get", "post", "put", "patch", "head", "options"})


class Deed(Struct, frozen=True):
    """One thing that a tool does, as the effect that it is."""

    kind: EffectKind
    rule: str
    reason: str


_DELETES = Deed("infra.destroy", "tool-destroys", "takes something away that others may rely on")
_DELETES_DATA = Deed("data.destroy", "tool-destroys", "destroys data")
_DELETES_GRAPH = Deed("data.destroy", "tool-destroys", "may destroy what a graph holds")
_STOPS = Deed("infra.destroy", "tool-stops", "stops or switches off something that others may rely on")
_POWER = Deed("system", "tool-power", "takes down a machine")
_CANCELS = Deed("world.change", "tool-cancels", "cancels what somebody ordered or agreed to")
_SENDS = Deed("world.change", "tool-sends", "sends a message to other people, which nobody can take back")
_PAYS = Deed("world.change", "tool-pays", "moves money or property")
_PUBLISHES = Deed("world.change", "tool-publishes", "publishes or deploys something that others use")
_STARTS = Deed("world.change", "tool-starts", "starts a workflow, which may deploy or publish")
_FORCES = Deed("world.change", "tool-forces", "overwrites what others have pushed")
_APPROVES = Deed("world.change", "tool-approves", "agrees to something in somebody's name")
_GRANTS = Deed("privilege", "tool-grants", "changes who may do what")
_TELLS = Deed("secret.read", "tool-secret", "reads a secret, which would then be in the agent's memory and logs")
_SCHEDULES = Deed("persistence", "tool-schedules", "plants a command that runs again and again")
_HINTED = Deed("data.destroy", "tool-hint", "is called destructive by the server that offers it")


def deeds(tool: ToolWords, name: str, leaves: tuple[Leaf, ...], *, hinted: bool) -> tuple[Effect, ...]:
    """The effects that the words of a call tell."""
    found: dict[Deed, Certainty] = {}
    shell = is_shell(tool)
    for deed in _of_phrase(tool.own, tool):
        found.setdefault(deed, "proven")
    for leaf in leaves:
        for deed in _of_leaf(leaf, tool, shell=shell):
            found.setdefault(deed, "possible" if deed is _DELETES_GRAPH else "proven")
    if hinted and not found:
        found[_HINTED] = "possible"
    return tuple(_effect(deed, name, certainty) for deed, certainty in found.items())


def _of_leaf(leaf: Leaf, tool: ToolWords, *, shell: bool) -> Iterator[Deed]:
    """What one argument tells: a verb, a mutation, or a value that changes what the tool's own verb does."""
    if leaf.name.is_action or (leaf.name.is_command and not shell and not leaf.listed and leaf.text.isidentifier()):
        yield from _of_phrase(_action_words(leaf), tool)
    elif leaf.above and argument_name(leaf.above[-1]).is_command:  # `command: {dropDatabase: 1}`
        yield from _of_phrase(leaf.name.words, tool)
    elif (leaf.name.is_query or leaf.name.is_sql) and leaf.text.lstrip()[:8].lower() == "mutation":
        yield from _of_mutation(leaf.text, tool)
    elif (leaf.name.is_query or leaf.name.is_sql) and _destroys_graph(leaf.text):
        yield _DELETES_GRAPH
    elif leaf.text == "true" and not told.DECRYPTS.isdisjoint((*leaf.name.words, leaf.name.plain)):
        yield _TELLS
    elif leaf.name.plain in told.FORCES and leaf.text == "true" and not told.PUSHES.isdisjoint(tool.own):
        yield _FORCES
    elif _makes_public(leaf) and not told.OPENS_UP.isdisjoint(tool.own):
        yield _GRANTS
    yield from _of_value(leaf, tool)


def _of_value(leaf: Leaf, tool: ToolWords) -> Iterator[Deed]:
    """What a value makes of the tool's own verb: no replicas, production, everybody, an administrator."""
    if _is_deletion(leaf):
        yield _DELETES
    if leaf.name.plain in told.VOTES and leaf.text.lower() in ("approve", "approved") and not reads_only(tool):
        yield _APPROVES
    if leaf.name.plain in told.COUNTS and leaf.text == "0" and "scale" in tool.own:
        yield _STOPS
    if _works_on_production(leaf, tool):
        yield _PUBLISHES
    if leaf.name.plain in told.RECIPIENTS and tool.own and frozenset(tool.own) <= told.SPEAKS | told.SENDS | {"user"}:
        yield _SENDS
    if leaf.text in told.EVERYWHERE and not reads_only(tool):
        yield _GRANTS
    raises = leaf.name.plain in told.ROLES and leaf.text.lower() in told.HIGH_ROLES
    if raises and not told.MAKES.isdisjoint(tool.own) and not told.PERSONS.isdisjoint(tool.own):
        yield _GRANTS
    if leaf.name.is_command and not told.CRON.isdisjoint(tool.own) and not told.MAKES.isdisjoint(tool.own):
        yield _SCHEDULES


def reads_only(tool: ToolWords) -> bool:
    """Whether the first verb of a name says that the tool only looks, thinks or asks."""
    verbs = told.READS | told.DESTROYS | told.MAKES | told.SENDS | told.STARTS | told.PUBLISHES
    return next((word in told.READS for word in tool.own if word in verbs), False)


def lies_elsewhere(tool: ToolWords) -> bool:
    """Whether the files of a tool lie on a server of somebody else."""
    return tool.has(told.REMOTE_FILES)


def _effect(deed: Deed, name: str, certainty: Certainty) -> Effect:
    details: dict[str, object] = {"rule": deed.rule, "reason": f"The tool {name[:100]!r} {deed.reason}"}
    if deed.kind == "privilege":
        details["grants"] = True
    return Effect(deed.kind, name, certainty, details=FrozenDict(details))


def _action_words(leaf: Leaf) -> tuple[str, ...]:
    text = leaf.text
    if (
        len(text) > _LONGEST_ACTION
        or len(text.split()) > 1
        or ("method" in leaf.name.words and text.lower() in _METHODS)
    ):
        return ()  # an HTTP method is read with its address
    return words_of(text)


def _destroys_graph(text: str) -> bool:
    """Whether a text is Cypher that deletes what it matches."""
    plain = text[:4000].upper()
    return "MATCH" in plain and "(" in plain and ("DETACH DELETE" in plain or " DELETE " in plain)


def _is_deletion(leaf: Leaf) -> bool:
    """Whether it is a route with its method: `DELETE /repos/{owner}/{repo}`."""
    return leaf.text[:8].upper() == "DELETE /" and not leaf.name.is_prose


def _works_on_production(leaf: Leaf, tool: ToolWords) -> bool:
    return (
        leaf.name.plain in told.ENVIRONMENT_KEYS
        and leaf.text.lower() in told.PRODUCTION
        and (
            next((word in told.WORKS_ON for word in tool.own if word in told.WORKS_ON | told.READS), False)
            or (tool.own[0] in told.MAKES and not told.SETTINGS.isdisjoint(tool.own))
        )
        and tool.own[-1] not in told.TOLD
        and told.QUERIED.isdisjoint(tool.own)
    )


def _makes_public(leaf: Leaf) -> bool:
    if leaf.name.plain in ("private", "isprivate"):
        return leaf.text == "false"
    value = leaf.text.lower().replace("-", "").replace("_", "")
    return not told.PUBLIC_KEYS.isdisjoint(leaf.name.words) and value in told.PUBLIC


def _of_mutation(text: str, tool: ToolWords) -> Iterator[Deed]:
    """GraphQL: the fields of a mutation are verbs with their objects."""
    for word in text[:4000].replace("(", " ").replace("{", " ").split()[1:40]:
        if word.isidentifier():
            yield from _of_phrase(words_of(word), tool)


def _of_phrase(words: tuple[str, ...], tool: ToolWords) -> Iterator[Deed]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word in _AND:
            parts.append([])
        else:
            parts[-1].append(word)
    objects = frozenset(words)
    for part in parts:
        yield from _of_words(part, objects, tool)


def _of_words(words: list[str], objects: frozenset[str], tool: ToolWords) -> Iterator[Deed]:
    tells = words[-1:] != [] and words[-1] in told.TOLD
    for index, word in enumerate(words):
        if word == "open" and not tells and not objects.isdisjoint(told.OPENED):
            yield _GRANTS
            return
        if word in told.READS:
            if _tells_secret(words, objects, tool):
                yield _TELLS
            return
        deed = _of_verb(word, objects, words[index + 1 :], tool)
        if tells and word not in told.DESTROYS | told.SENDS | told.EMPTIES:
            deed = None
        if deed is not None:
            yield deed
            return
        if word in told.MAKES or word in told.EMPTIES or word in told.DESTROYS:
            return
    if _tells_secret(words, objects, tool):
        yield _TELLS


def _of_verb(word: str, objects: frozenset[str], rest: list[str], tool: ToolWords) -> Deed | None:
    if word in told.DESTROYS:
        small = not objects.isdisjoint(told.SMALL)
        small = small or (
            not told.SMALL_SERVERS.isdisjoint(tool.server) and objects.isdisjoint({"file", "files", "project"})
        )
        small = small or (word == "terminate" and not told.OWN_PROCESSES.isdisjoint((*objects, *tool.server)))
        if small or (word == "remove" and not objects.isdisjoint({"label", "labels", "tag", "tags", "assignee"})):
            return None
        return _DELETES_DATA if not objects.isdisjoint(told.DATA) else _DELETES
    if word in told.EMPTIES:
        return _DELETES_DATA if not objects.isdisjoint(told.LARGE) else None
    if word == "power" and rest[:1] in (["off"], ["down"], ["cycle"]):
        return _POWER
    if not objects.isdisjoint(told.ALSO_ENDS.get(word, _NOTHING)):
        return _STOPS
    if word in told.POWER and objects.isdisjoint(told.STOPPED - {"machine", "server", "node"}):
        return _POWER
    if word in told.GRANTS and objects.isdisjoint({"screen", "feedback"}):
        return _GRANTS
    if word in told.STOPS:
        stopped = told.STOPPED - told.DEVELOPED if word in ("stop", "pause", "kill") else told.STOPPED
        return _STOPS if not objects.isdisjoint(stopped) or not stopped.isdisjoint(tool.server) else None
    started = told.STARTED | {"build", "job"} if word in ("trigger", "dispatch") else told.STARTED
    if word in told.STARTS and not objects.isdisjoint(started):
        return _STARTS
    if word in told.CANCELS:
        return _CANCELS if not objects.isdisjoint(told.CANCELLED) else None
    return _outward(word, objects, rest, tool)


def _with_object(word: str, objects: frozenset[str]) -> Deed | None:
    """Verbs that are harmless for most objects, and reach others with some."""
    if word in ("dial", "phone") and not objects.isdisjoint(told.CALLED - {word}):
        return _SENDS
    if word == "force" and not objects.isdisjoint(told.PUSHES):
        return _FORCES
    if word in told.MOVES_MONEY and not objects.isdisjoint(told.MONEY | (told.PAID - told.MOVES_MONEY)):
        return _PAYS
    if not objects.isdisjoint(told.ORDERS.get(word, _NOTHING)):
        return _PAYS
    if word in ("launch", "start") and not objects.isdisjoint({"campaign", "campaigns", "rollout", "ads"}):
        return _PUBLISHES
    return None


def _outward(word: str, objects: frozenset[str], rest: list[str], tool: ToolWords) -> Deed | None:
    reaches = _with_object(word, objects)
    if reaches is not None:
        return reaches
    if word in told.SENDS:
        if not objects.isdisjoint({"transaction", "money", "payment", "funds", "crypto"}):
            return _PAYS
        return None if word != "dm" and _is_no_message(objects, tool) else _SENDS
    if word in told.SPEAKS:
        verbs = told.READS | told.MAKES | told.DESTROYS | told.SENDS
        if not verbs.isdisjoint(rest) or _is_no_message(objects - {word}, tool):
            return None
        return _SENDS if rest or tool.has(told.CHATS) or not objects.isdisjoint({"mass", "bulk"}) else None
    if (word in told.PAYS or (word == "checkout" and "git" not in tool.all)) and objects.isdisjoint(told.NO_MONEY):
        return _PAYS
    if word in told.PUBLISHES:
        local = not objects.isdisjoint(told.LOCAL_MERGES) or ("git" in tool.all and objects.isdisjoint(told.FORGE_TALK))
        if word == "merge" and local:
            return None
        return _PUBLISHES if word in told.ALWAYS_OUT or not (objects - {word}).isdisjoint(told.RELEASED) else None
    if word in ("accept", "agree") and not objects.isdisjoint({"contract", "agreement", "terms", "offer"}):
        return _APPROVES
    if word in told.APPROVES and not objects.isdisjoint(told.APPROVED) and "review" not in objects:
        return _PAYS if not objects.isdisjoint(told.PAID) else _APPROVES
    if word in told.MAKES and not objects.isdisjoint({"user", "users"}) and tool.has(told.IDENTITIES):
        return _GRANTS
    return _made(word, objects) if word in told.MAKES else None


def _made(word: str, objects: frozenset[str]) -> Deed | None:
    if not objects.isdisjoint({"draft", "drafts", "template", "templates"}):
        return None
    if not objects.isdisjoint(told.PAID) and objects.isdisjoint(told.NO_MONEY):
        return _PAYS
    if not objects.isdisjoint(told.GIVEN):
        return _GRANTS
    if not objects.isdisjoint(told.KEYS) and (word == "rotate" or not objects.isdisjoint(told.KEY_KINDS)):
        return _GRANTS
    if word in ("change", "set", "update") and "password" in objects and objects <= {word, "password", "new", "my"}:
        return _GRANTS
    if word in ("update", "set", "change", "modify", "edit", "put") and "dns" in objects:
        return _PUBLISHES
    if word in ("make", "place") and not objects.isdisjoint(told.CALLED):
        return _SENDS
    if "merge" in objects and word == "enable":
        return _PUBLISHES
    return _PUBLISHES if not objects.isdisjoint(told.CREATED_OUT) and word in _PUTS_OUT else None


def _is_no_message(objects: frozenset[str], tool: ToolWords) -> bool:
    if not objects.isdisjoint({"email", "sms", "mail", "tweet"}):
        return False
    if not objects.isdisjoint(told.FORGE_TALK):
        return not tool.has(told.CHATS)
    return not objects.isdisjoint(told.NO_MESSAGE) or not objects.isdisjoint(told.TO_THE_USER)


def _tells_secret(words: list[str], objects: frozenset[str], tool: ToolWords) -> bool:
    if (
        "list" in words
        and not objects.isdisjoint({"env", "environment"})
        and not objects.isdisjoint({"vars", "variables"})
    ):
        return True
    if "environment" in objects and words[:1] in (["print"], ["dump"]):
        return True
    if "values" in objects and not objects.isdisjoint(told.SECRETS):
        return True
    if not objects.isdisjoint(told.ABOUT_SECRETS) or ("cookies" in objects and tool.has(BROWSERS)):
        return False
    safe = not told.SAFES.isdisjoint(tool.server) and told.NO_SAFES.isdisjoint(tool.all)
    if "find" in words and (safe or "password" in objects):
        return True
    if told.TELLS.isdisjoint(words):
        return not told.ENVIRONMENT.isdisjoint(words) and bool({"print", "dump"} & objects or "printenv" in words)
    if not objects.isdisjoint(told.SECRETS) or not objects.isdisjoint(told.ENVIRONMENT):
        return True
    if any(both <= objects for both in _TOLD_TOGETHER) or ("decrypt" in words and objects.isdisjoint(_DOCUMENTS)):
        return True
    if not objects.isdisjoint(told.SECRET_NOUNS) and not objects.isdisjoint(told.SECRET_ADJECTIVES):
        return True
    return safe
