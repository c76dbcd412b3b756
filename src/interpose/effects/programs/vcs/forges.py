"""Command lines of forges: gh, glab and hub. What they delete, publish, show and let in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Word
from interpose.effects.programs.shared.options import Options, parse
from interpose.effects.values import EffectKind


class Meaning(Struct, frozen=True):
    """What a forge's subcommand does, for the effect."""

    kind: EffectKind
    rule: str
    reason: str
    recoverable: bool = False


_GONE = Meaning("infra.destroy", "forge-delete", "Deletes something on the forge that cannot be had again.")
_CLOSED = Meaning("infra.destroy", "forge-archive", "Takes something on the forge out of use for everybody.")
_CACHE = Meaning("infra.destroy", "forge-cache", "Deletes what the next run makes again.", recoverable=True)
_LETS_IN = Meaning("persistence", "forge-key", "Lets somebody into the account from now on.")
_STARTS = Meaning("system", "forge-workflow", "Starts a workflow, which may deploy or publish.")
_STOPS = Meaning("guard.tamper", "forge-checks", "Switches off checks that run on the forge.")
_SHOWS = Meaning("secret.read", "forge-token", "Prints the token that the forge accepts.")
_SETS_SECRET = Meaning("persistence", "forge-secret", "Changes a secret that workflows of the forge use.")
_PUBLISHES = Meaning("vcs.publish", "forge-publish", "Publishes on the forge.")
_INSTALLS = Meaning("package.install", "forge-extension", "Installs an extension.")


def _table(entries: Mapping[Meaning, str]) -> dict[str, Meaning]:
    return {path: meaning for meaning, paths in entries.items() for path in paths.split()}


_GH = _table({
    _GONE: """
        repo.delete release.delete release.delete-asset gist.delete issue.delete secret.delete secret.remove
        variable.delete variable.remove run.delete codespace.delete cs.delete project.delete project.item-delete
        project.field-delete label.delete repo.deploy-key.delete ssh-key.delete gpg-key.delete repo.autolink.delete
        discussion.delete
    """,
    _CLOSED: "repo.archive repo.rename issue.transfer run.cancel project.item-archive",
    _CACHE: "cache.delete",
    _LETS_IN: "ssh-key.add gpg-key.add repo.deploy-key.add",
    _STARTS: "workflow.run",
    _STOPS: "workflow.disable",
    _SHOWS: "auth.token",
    _SETS_SECRET: "secret.set",
    _PUBLISHES: "pr.merge release.create release.upload",
    _INSTALLS: "extension.install ext.install",
})  # fmt: skip

_GLAB = _table({
    _GONE: """
        repo.delete project.delete release.delete issue.delete mr.delete incident.delete variable.delete variable.remove
        ci.delete pipeline.delete pipe.delete label.delete milestone.delete snippet.delete schedule.delete
        ssh-key.delete gpg-key.delete deploy-key.delete token.revoke securefile.remove runner.delete
    """,
    _CLOSED: "repo.archive project.archive repo.transfer repo.update ci.cancel",
    _LETS_IN: "ssh-key.add gpg-key.add deploy-key.add token.create token.rotate",
    _STARTS: "ci.trigger schedule.run",
    _SHOWS: "auth.token",
    _PUBLISHES: "mr.merge release.create release.upload",
})  # fmt: skip

_HUB = _table({_GONE: "delete release.delete gist.delete", _PUBLISHES: "release.create release.edit"})

_VALUES = words(
    """
    -R --repo -H --hostname -X --method -f --raw-field -F --field --input --jq -q -t --template --title --body -b
    --body-file --notes -n --notes-file --env -e --org -o --visibility --cache -p --preview -d --desc --filename --ref
    -L --limit -g --group --json --label -l --assignee -a --key
    """
)


@command("gh")
def gh(inv: Invocation, low: Lowering) -> None:
    _forge(inv, _GH, low)


@command("glab")
def glab(inv: Invocation, low: Lowering) -> None:
    _forge(inv, _GLAB, low)


@command("hub")
def hub(inv: Invocation, low: Lowering) -> None:
    """hub is git with more words: what is not its own goes on to git."""
    verb = inv.args[0].text if inv.args else ""
    if verb in ("delete", "release", "gist", "api"):
        _forge(inv, _HUB, low)
    elif verb not in ("pull-request", "pr", "issue", "browse", "compare", "ci-status", "create", "fork", "sync"):
        low.run((Word("git"), *inv.args), via="hub")


def _forge(inv: Invocation, table: Mapping[str, Meaning], low: Lowering) -> None:
    verbs = [word.text for word in inv.args if word.text[:1] != "-"][:1]
    # `-p` makes a gist public; elsewhere it takes a value.
    opts = parse(inv.args, values=_VALUES - {"-p"} if verbs == ["gist"] else _VALUES)
    if opts.has("--help", "--version", "--dry-run"):
        return
    path = ".".join(word.text for word in opts.operands[:3])
    meaning, depth = None, 0
    for depth in (3, 2, 1):
        meaning = table.get(".".join(path.split(".")[:depth]))
        if meaning is not None:
            break
    verb = ".".join(path.split(".")[:2])
    if opts.word(0) == "api":
        _api(opts, low)
    elif meaning is not None:
        what = " ".join(word.text for word in opts.operands[depth:]) or (opts.value("-R", "--repo") or Word("")).text
        low.emit(meaning.kind, what, rule=meaning.rule, reason=meaning.reason, **_details(meaning, opts))
    _texts(opts, low)
    if verb in ("gist.create", "snippet.create"):
        _uploads(inv, opts, low)
    elif verb in ("alias.set", "alias.import"):
        _alias(opts, low)
    elif verb == "repo.edit":
        _repo_edit(opts, low)
    elif verb == "auth.status" and opts.has("-t", "--show-token"):
        low.emit("secret.read", "token", rule=_SHOWS.rule, reason=_SHOWS.reason)
    elif verb in ("pr.merge", "mr.merge") and opts.has("--admin"):
        low.emit("guard.tamper", "branch protection", rule="forge-merge-bypass",
                 reason="Merges without the reviews and checks that the branch asks for.")  # fmt: skip
    elif verb in ("release.create", "release.upload"):
        for file in opts.operands[3:]:
            low.read(replace(file, text=file.text.partition("#")[0]))


def _texts(opts: Options, low: Lowering) -> None:
    """The text of a pull request, an issue or a release out of a file: others read it."""
    if opts.word(0) not in ("pr", "issue", "release", "mr"):
        return
    for file in opts.values("--body-file", "--notes-file", "-F"):
        if file.text != "-" and "secret" in low.read(file).taints:
            low.emit("net.upload", opts.word(0), at=file, secret=True, rule="forge-text")


def _details(meaning: Meaning, opts: Options) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if meaning.recoverable:
        details["recoverable"] = True
    if opts.has("--yes", "-y", "--confirm", "--force"):
        details["agreed"] = True
    return details


def _repo_edit(opts: Options, low: Lowering) -> None:
    visibility = opts.value("--visibility")
    if visibility is not None and visibility.text.lower() == "public":
        low.emit("vcs.publish", opts.word(2), forced=True, rule="forge-make-public",
                 reason="Shows the whole repository with its history to everybody.")  # fmt: skip


def _uploads(inv: Invocation, opts: Options, low: Lowering) -> None:
    secret = inv.stdin is not None and "secret" in inv.stdin.taints
    for file in opts.operands[2:]:
        if file.text != "-":
            secret = "secret" in low.read(file).taints or secret
    low.emit("net.upload", "gist", rule="forge-gist", secret=secret, file=bool(opts.operands[2:]),
             reason="Puts files where others can read them.")  # fmt: skip


def _alias(opts: Options, low: Lowering) -> None:
    if len(opts.operands) < 4:
        return
    code = opts.operands[3]
    if code.text.startswith("!") or opts.has("-s", "--shell"):
        low.emit("persistence", opts.word(2), at=code, rule="forge-shell-alias",
                 reason="From now on this forge command runs a shell command.")  # fmt: skip
        low.shell(replace(code, text=code.text.lstrip("!")), via="gh alias")


_SENSITIVE: tuple[tuple[str, Meaning], ...] = (
    ("/protection", _STOPS),
    ("/rulesets", _STOPS),
    ("/hooks", _LETS_IN),
    ("/keys", _LETS_IN),
    ("/collaborators", _LETS_IN),
    ("/invitations", _LETS_IN),
    ("/members", _LETS_IN),
    ("/secrets", _SETS_SECRET),
    ("/dispatches", _STARTS),
    ("/transfer", _CLOSED),
)


_REPOSITORY_SETTINGS = frozenset({"private=false", "archived=true", "visibility=public", "has_issues=false"})


def _api(opts: Options, low: Lowering) -> None:
    endpoint = opts.operands[1] if len(opts.operands) > 1 else Word("")
    fields = opts.values("-f", "--raw-field", "-F", "--field")
    given = opts.value("-X", "--method")
    method = given.text.upper() if given is not None else ("POST" if fields or opts.has("--input") else "GET")
    secret = _reads_fields(fields, opts, low)
    if endpoint.text == "graphql":
        query = " ".join(field.text.partition("=")[2] for field in fields if field.text.startswith("query="))
        if query.lstrip().startswith("mutation"):
            destroys = any(verb in query for verb in ("delete", "archive", "transfer", "remove"))
            low.emit("infra.destroy" if destroys else "vcs.publish", "graphql", at=endpoint, rule="forge-api",
                     reason="Changes something on the forge.")  # fmt: skip
        return
    if method in ("GET", "HEAD"):
        return
    if secret:
        low.emit("net.upload", endpoint.text, at=endpoint, secret=True, rule="forge-api")
    if method == "DELETE":
        low.emit(_GONE.kind, endpoint.text, at=endpoint, rule=_GONE.rule, reason=_GONE.reason)
        return
    meaning = next((meaning for part, meaning in _SENSITIVE if part in endpoint.text), _PUBLISHES)
    if {field.text for field in fields} & _REPOSITORY_SETTINGS:
        meaning = _CLOSED
    low.emit(meaning.kind, endpoint.text, at=endpoint, rule=meaning.rule, reason=meaning.reason)


def _reads_fields(fields: tuple[Word, ...], opts: Options, low: Lowering) -> bool:
    """`-F name=@file` and `--input file` send a file."""
    files = [replace(field, text=field.text.partition("=@")[2]) for field in fields if "=@" in field.text]
    files += [word for word in opts.values("--input") if word.text != "-"]
    streams = [low.read(file) for file in files if file.text not in ("", "-")]
    return any("secret" in stream.taints for stream in streams)
