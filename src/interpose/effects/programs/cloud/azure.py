"""Azure: az and azcopy."""

from __future__ import annotations

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering
from interpose.effects.programs.cloud.aws import transfer
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.verbs import (
    find_verb,
    is_local,
    only_talks,
    opens_to_everyone,
    scales_to_zero,
    verb_of,
)

_VALUES = words(
    """
    --account-key --account-name --assignee --container-name --file --location --method --name --output --query
    --resource-group --role --scope --scripts --source --subscription --uri --url --vault-name -c -f -g -l -m -n -o -u
    """
)
_OWN_SETTINGS = words("account bicep cache cloud config configure extension local-context")
_REACH = 6


@command("az")
def az(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=_VALUES, bundle=False)
    texts = [word.text for word in opts.operands]
    if only_talks(inv.args):
        return
    method = opts.value("--method", "-m")
    role = opts.value("--role")
    match texts[:3]:
        case ["rest", *_] if method is not None and method.text.lower() in ("delete", "put", "patch"):
            url = opts.value("--url", "--uri", "-u")
            low.emit(
                "infra.destroy", url.text if url else "", rule="az-rest", reason="Changes a resource by its address."
            )
        case ["vm" | "vmss", "run-command", *_]:
            for script in opts.values("--scripts"):
                low.shell(script, via="az vm run-command")
        case ["ad", "sp", "create-for-rbac"] | ["ad", "app", "credential"] | ["ad", "sp", "credential"] if (
            "list" not in texts
        ):
            low.emit(
                "privilege", " ".join(texts), rule="az-credential", grants=True, reason="Makes a lasting credential."
            )
        case ["role", "assignment", "create"] if role is not None and role.text.lower() in _POWERFUL:
            low.emit("privilege", role.text, rule="az-grant", grants=True, reason="Gives wide rights.")
        case [*_] if reason := _opens(inv):
            low.emit("privilege", " ".join(texts[:4]), rule="az-public", grants=True, reason=reason)
        case ["deployment", _, "create"] if _value_of(inv, "--mode").lower() == "complete":
            low.emit("infra.destroy", " ".join(texts[:3]), rule="az-deployment-complete",
                     reason="Deletes whatever the template does not name.")  # fmt: skip
        case ["vm", "user", "update" | "reset-ssh"] | ["ad", "user", "update"] | ["ad", "group", "member"] if (
            "list" not in texts and "check" not in texts
        ):
            low.emit("privilege", " ".join(texts[:3]), rule="az-grant", grants=True, reason="Lets somebody in.")
        case ["storage", "blob" | "file" | "fs", "upload" | "upload-batch" | "file"]:
            content = [low.read(path) for path in opts.values("--file", "-f", "--source", "-s")]
            low.emit("net.upload", " ".join(texts), secret=any("secret" in stream.taints for stream in content))
            _verbs(inv, low)
        case ["storage", "blob", "sync"] if opts.has("--delete-destination"):
            low.emit("data.destroy", " ".join(texts), rule="az-sync-delete", reason=_MIRROR)
        case _:
            _verbs(inv, low)


_ALSO = words(
    """
    cancel deallocate detach disable failover force-reboot purge redeploy regenerate-key regenerate-keys reimage renew
    swap
    """
)
_DATABASES = ("aks", "cosmosdb", "mariadb", "mysql", "postgres", "redis", "sql")
_PUBLIC_SETTINGS = (
    ("--public-access", ("container", "blob", "true", "enabled")),
    ("--allow-blob-public-access", ("true",)),
    ("--anonymous-pull-enabled", ("true",)),
    ("--admin-enabled", ("true",)),
    ("--default-action", ("allow",)),
    ("--start-ip-address", ("0.0.0.0",)),  # noqa: S104 - judged, not used
    ("--source-address-prefixes", ("*", "0.0.0.0/0", "internet", "any")),
    ("--source-address-prefix", ("*", "0.0.0.0/0", "internet", "any")),
)


def _opens(inv: Invocation) -> str:
    """Why a setting opens something to everybody, or an empty text."""
    given = parse(inv.args, values=tuple(name for name, _ in _PUBLIC_SETTINGS), bundle=False)
    for name, values in _PUBLIC_SETTINGS:
        value = given.value(name)
        if value is not None and value.text.lower() in values:
            return f"{name} opens it to everyone."
    if scales_to_zero(inv.args):
        return "Stops every copy of a service."
    return "Opens it to everyone." if opens_to_everyone(inv.args) else ""


def _value_of(inv: Invocation, name: str) -> str:
    value = parse(inv.args, values=(name,), bundle=False).value(name)
    return value.text if value is not None else ""


_POWERFUL = words("contributor owner user-access-administrator")
_MIRROR = "Deletes in the target whatever the source does not have."


def _verbs(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=_VALUES, bundle=False)
    texts = [word.text for word in opts.operands]
    name = opts.value("--name", "-n", "--resource-group", "-g")
    for index, word in enumerate(opts.operands[:_REACH]):
        also = _ALSO | {"stop"} if texts[0] in _DATABASES else _ALSO
        if index and find_verb((word,), also=also) is not None:
            low.emit(
                "infra.destroy",
                name.text if name is not None else " ".join(texts[index + 1 :]),
                at=word,
                rule=f"az-{verb_of(word.text)}",
                reason=f"`az {' '.join(texts[: index + 1])}` takes away something that others may use.",
                recoverable=texts[0] in _OWN_SETTINGS or is_local(texts[:index]),
                wide=texts[:2] == ["group", "delete"],
                forced=opts.has("--yes", "-y"),
            )
            return
        if word.text in ("list", "show", "create", "update", "add", "get", "exists", "set"):
            return


@command("azcopy")
def azcopy(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=("--from-to", "--include-pattern", "--exclude-pattern", "--log-level"), bundle=False)
    if only_talks(inv.args):
        return
    paths = opts.operands[1:]
    deletes = opts.value("--delete-destination")
    match opts.word(0):
        case "remove" | "rm":
            low.emit("data.destroy", opts.word(1), rule="azcopy-remove", reason="Deletes blobs.")
        case "sync" if deletes is not None and deletes.text == "true":
            low.emit("data.destroy", opts.word(2), rule="azcopy-sync-delete", reason=_MIRROR)
        case "copy" | "cp" | "sync" if len(paths) >= 2:
            transfer(paths[0], paths[1], low, recursive=opts.has("--recursive"))
        case _:
            pass
