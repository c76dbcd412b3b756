"""The general rule for commands without a handler: the verbs that clouds and admin tools share.

What tells `heroku apps:destroy shop` from `figlet destroy` is where the word stands and who reads it. A tool of the
table in admin.py is believed to mean what it says: the first of its leading words that is a verb decides. Of a tool
nobody knows only the clearest form counts: a destructive verb where a subcommand stands, followed by what it hits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import HANDLERS
from interpose.effects.invocation import Invocation, Lowering, Word
from interpose.effects.late_patterns import late
from interpose.effects.paths import secret_of
from interpose.effects.programs.shared.carried_code import state_carried
from interpose.effects.programs.shared.carriers import CARRIERS
from interpose.effects.programs.shared.options import Options, parse
from interpose.effects.programs.shared.transfer import is_loopback, url_of
from interpose.effects.programs.shared.verb_tables import CLEAREST, CLIS, DESTROY, DRY, HARMLESS, LOCAL, THINGS, Cli

GLOBAL_VALUES = words(
    """
    --account --account-name --api-key --api-token --app --cluster --config --config-file --context --endpoint
    --env --environment --filter --format --host --kubeconfig --location --log-level --login --namespace --org
    --organization --output --owner --password --profile --project --query --region --repo --repository
    --resource-group --server --site --stage --subscription --team --tenant --timeout --token --url --user
    --username --vault --workspace --zone
    """
)
"""Options that nearly every such tool has, with a value."""

TEXT_TOOLS = words(
    """
    ack ag aichat apropos banner cowsay cowthink dict did espeak espeak-ng explain fd fdfind festival figlet fzf
    gh-search glow googler grex how2 howdoi info jira khal llm logger lolcat look man mdfind mods navi
    notify-send ollama osd_cat pt rga rofi say screen sgpt sk spd-say task taskwarrior tldr tmux todo.sh toilet
    trans translate ug ugrep wall whatis whereis which wl-copy write xclip xdotool yad ydotool zellij zenity
    """
)
"""Tools whose operands are text, patterns or entries of a person's own list, whatever the words mean."""

RUNNERS = words("heroku scalingo gigalixir railway")
"""Tools whose `run` takes a command without `--` before it."""

REACH = 5
"""How many leading words may name a subcommand (`fastly logging bigquery delete`)."""


def general(inv: Invocation, low: Lowering) -> None:
    """Say what a command without a handler would destroy, judged by the verb that it uses."""
    name, args = _tool(inv)
    if "/" in inv.argv0.text and low.known(inv.argv0) is not None:
        low.run_file(inv.argv0, via=inv.name)
    cli = CLIS.get(name)
    carrier = CARRIERS.get(inv.name)
    if carrier is not None:
        state_carried(carrier, inv, low)
    if cli is not None:
        admin(name, cli, args, low)
    elif name not in TEXT_TOOLS:
        _unknown(name, args, low)
        _last_look(name, args, low)
        _sends_secret(name, args, low)


_CREDENTIAL_OPTIONS = ("key", "cert", "identity", "env", "config", "cred", "auth", "pem")


def _sends_secret(name: str, args: tuple[Word, ...], low: Lowering) -> None:
    """A program that nobody knows gets a file of secrets and an address on another machine."""
    url = next((word for word in args if "://" in word.text and not is_loopback(url_of(word.text).host)), None)
    if url is None or url.text.startswith("file:"):
        return
    for before, word in zip((Word(""), *args), args[:_LOOKED_AT], strict=False):
        option, equals, value = word.text.partition("=")
        text = value if equals else word.text
        option = option if equals else before.text
        if word is url or not text.lstrip("@") or any(part in option.lower() for part in _CREDENTIAL_OPTIONS):
            continue
        mark = secret_of(low.path(text.lstrip("@")), low.home)
        if mark is not None and mark.strength == "key":
            low.emit(
                "net.upload",
                url.text,
                certainty="possible",
                at=word,
                secret=True,
                reason=f"`{name}` is not known here, and it gets a secret and the address of another machine",
            )
            return


_LOOKED_AT = 16
_TAKES_COMMAND = words("exec run command cmd shell sh eval execute launch spawn system dispatch submit")
"""Words after which a command stands, in whatever program."""
_LONGEST = 16_384


def _last_look(name: str, args: tuple[Word, ...], low: Lowering) -> None:
    """Nobody knows which options of this program take a command: an argument that reads like a fatal one is doubted."""
    if name.endswith("-config"):
        return  # they print the options of a compiler
    for before, word in zip((Word(""), *args), args[:_LOOKED_AT], strict=False):
        text = word.text
        if text[:1] == "-" and "=" in text:
            text = text.partition("=")[2]
        elif before.text[:1] != "-" and before.text not in _TAKES_COMMAND:
            continue  # an operand: what a checker, a queue or a note is given to look at
        first = text.split(None, 1)[0] if " " in text.strip() else ""
        if first.rpartition("/")[2] in HANDLERS and len(text) <= _LONGEST:
            low.suspect(replace(word, text=text), via=name)


def admin(name: str, cli: Cli, args: tuple[Word, ...], low: Lowering) -> None:
    """The rule for a known admin tool."""
    if enters(name, args, low) or only_talks(args):
        return
    opts = parse(args, values=GLOBAL_VALUES, bundle=False)
    if opens_to_everyone(args) or any(word.text in _PUBLIC_TYPES for word in args):
        low.emit("privilege", name, rule=f"{name}-public", grants=True, reason="Opens it to everyone.")
        return
    if scales_to_zero(args):
        low.emit("infra.destroy", name, rule=f"{name}-scale-zero", reason="Stops every copy of a service.")
        return
    found = find_verb(opts.operands[:REACH], also=cli.also, never=cli.never)
    if found is None:
        found = _dashed_verb(opts, cli)
    if found is None:
        return
    index, verb = found
    nouns = [word.text for word in opts.operands[:index]]
    low.emit(
        cli.kind,
        " ".join(word.text for word in opts.operands[index + 1 :]) or " ".join(nouns),
        at=verb,
        rule=f"{name}-{verb_of(verb.text)}",
        reason=f"`{' '.join((name, *nouns, verb.text))}` takes away {cli.what}.",
        recoverable=is_local((*nouns, verb.text)),
        forced=opts.has("--force", "-f", "--yes", "-y", "--confirm", "--auto-approve"),
    )


def enters(name: str, args: tuple[Word, ...], low: Lowering) -> bool:
    """Run what a tool runs elsewhere: `lxc exec web -- rm x`, `vagrant ssh -c 'rm x'`, `heroku run rake x`."""
    texts = [word.text for word in args]
    doors = [index for index, text in enumerate(texts[:4]) if text in ("exec", "run", "shell", "ssh", "console")]
    if not doors:
        return False
    for index, text in enumerate(texts):
        if text == "--" and index > doors[0]:
            low.run(args[index + 1 :], via=f"{name} {texts[doors[0]]}")
            return True
        if text in ("-c", "-C", "--command") and index > doors[0] and index + 1 < len(args):
            low.shell(args[index + 1], via=f"{name} {texts[doors[0]]}")
            return True
    if name in RUNNERS and texts[doors[0]] == "run":
        low.run(
            parse(args[doors[0] + 1 :], values=("-a", "--app", *GLOBAL_VALUES), stop=True).operands, via=f"{name} run"
        )
        return True
    return False


def only_talks(args: Iterable[Word]) -> bool:
    """Whether an option makes the tool explain or simulate instead of acting."""
    texts = [word.text for word in args]
    for index, text in enumerate(texts):
        if text == "--":
            return False
        name, equals, value = text.partition("=")
        if name not in DRY or (equals and value.lower() in ("false", "none", "0", "no")):
            continue
        # `--version 5` names a version, `-h db1` a host.
        if name not in ("--version", "-h") or texts[index + 1 : index + 2] in ([], [""]) or texts[index + 1][0] == "-":
            return True
    return False


_CAPITAL = late(r"[A-Z]?[a-z]+(?=[A-Z])")
_DOTTED = late(r"[a-z]+(?:\.[a-z]+)+")


def _last_part(text: str) -> str:
    """The verb in `apps:destroy`, `vm.destroy` and `DeleteInstance`."""
    if (capital := _CAPITAL.match(text)) is not None:
        return capital.group().lower()
    last = text.lower().rpartition(":")[2]
    return last.rpartition(".")[2] if _DOTTED.fullmatch(last) else last


def find_verb(
    words: Sequence[Word], *, also: frozenset[str] = frozenset(), never: frozenset[str] = frozenset()
) -> tuple[int, Word] | None:
    """The first verb among the leading words, if it destroys. A harmless verb before it ends the search."""
    for index, word in enumerate(words):
        text = word.text.lower()
        verb = _last_part(word.text) if "://" not in text else ""
        parts = verb.replace("_", "-").split("-")
        if text in also or verb in also or ("_" in text and parts[0] in also):
            return index, word
        if verb in never:
            continue
        if verb in DESTROY or parts[0] in DESTROY:
            return index, word
        if verb in THINGS and index + 1 < len(words) and words[index + 1].text in DESTROY | also:
            continue
        if verb in HARMLESS or verb in THINGS or (len(parts) > 1 and parts[0] in HARMLESS):
            return None
        if len(parts) > 1 and is_name(text) and (parts[-1] in DESTROY or parts[1] in DESTROY):
            return index, word
    return None


_EVERYONE = ("0.0.0.0/0", "::/0")
_DOORS = ("ingress", "firewall", "security", "source", "nsg", "allow", "remote-ip", "authorized-networks", "rule")
_OUTWARDS = ("egress", "route", "destination", "outbound")
_PUBLIC_TYPES = words("ObjectRead ObjectReadWithoutList allUsers --allow-unauthenticated-access public-read-write")
_SCALES = ("scale", "resize")
_COUNTS = ("--replicas", "--size", "--num-nodes", "--node-count", "--new-capacity", "--nodes", "--count", "--instances")


def opens_to_everyone(args: Iterable[Word]) -> bool:
    """Whether a rule of a network lets in whoever comes: `firewall add-rule --source-ips 0.0.0.0/0`."""
    texts = [word.text for word in args]
    if not any(everyone in text for text in texts for everyone in _EVERYONE):
        return False
    said = " ".join(texts).lower()
    asks = any(word in said for word in ("list", "describe", " show", "delete", "remove", "revoke"))
    return any(door in said for door in _DOORS) and not asks and not any(way in said for way in _OUTWARDS)


def scales_to_zero(args: Iterable[Word]) -> bool:
    """Whether every copy of something is stopped: `ps:scale web=0`, `scale count 0`, `resize --num-nodes 0`."""
    texts = [word.text for word in args]
    if not any(text.rpartition(":")[2] in _SCALES for text in texts[:5]):
        return False
    for index, text in enumerate(texts):
        name, equals, value = text.partition("=")
        if equals and value == "0" and (name in _COUNTS or name[:1] != "-"):
            return True
        if index and text == "0" and (texts[index - 1] in _COUNTS or texts[index - 1][:1] != "-"):
            return True
    return False


def verb_of(text: str) -> str:
    """The verb of a subcommand for a rule id: `apps:destroy` is `destroy`."""
    return text.lower().rpartition(":")[2].replace("_", "-").strip("-")


def is_local(nouns: Iterable[str]) -> bool:
    """Whether what is removed lies on this machine and is fetched again."""
    return any(noun.partition(":")[0] in LOCAL for noun in nouns)


def is_name(text: str) -> bool:
    """Whether a word looks like a subcommand: small letters and digits, joined by dashes or colons."""
    return bool(text) and text[0].isalpha() and text.replace("-", "").replace("_", "").replace(":", "").isalnum()


def _dashed_verb(opts: Options, cli: Cli) -> tuple[int, Word] | None:
    """Tools such as `hdfs dfs -rm` spell the verb as an option; `mirror --remove` deletes what is not in the source."""
    for name, _ in opts.given:
        bare = name.lstrip("-")
        if (
            name in cli.also
            or bare in ("remove", "delete", "prune", "purge", "remove-all")
            or bare.startswith("delete-")
        ):
            return len(opts.operands), Word(name)
    return None


def _unknown(name: str, args: tuple[Word, ...], low: Lowering) -> None:
    if only_talks(args):
        return
    # Of an unknown tool every word after an option may be its value.
    operands = [word for index, word in enumerate(args) if word.text[:1] != "-" and not _after_option(args, index)]
    for index, word in enumerate(operands[:3]):
        text = word.text
        verb = text.rpartition(":")[2]
        if verb in CLEAREST or (text.partition("-")[0] in CLEAREST and is_name(text)):
            rest = operands[index + 1 :]
            if rest or index or len(args) > 1 or ":" in text:
                low.emit(
                    "infra.destroy",
                    " ".join(part.text for part in rest),
                    certainty="possible",
                    at=word,
                    rule="unknown-tool-destroys",
                    reason=f"`{name}` is not known here, and `{text}` says that it destroys something.",
                )
            return
        if text in HARMLESS or not is_name(text) or text != text.lower() or word.quoted:
            return


def _after_option(args: tuple[Word, ...], index: int) -> bool:
    return index > 0 and args[index - 1].text[:1] == "-" and "=" not in args[index - 1].text


def _tool(inv: Invocation) -> tuple[str, tuple[Word, ...]]:
    """The tool that acts: `java -jar jenkins-cli.jar ...` is `jenkins-cli ...`."""
    if inv.name != "java":
        return inv.name, inv.args
    for index, word in enumerate(inv.args[:-1]):
        if word.text == "-jar":
            jar = inv.args[index + 1].text.rpartition("/")[2]
            return jar.removesuffix(".jar"), inv.args[index + 2 :]
    return inv.name, ()
