"""Google Cloud: gcloud, gsutil and bq."""

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
    --access-token-file --account --billing-project --command --configuration --filter --flags-file --format
    --impersonate-service-account --limit --location --log-http --member --organization --page-size --project --region
    --role --sort-by --trace-token --verbosity --zone
    """
)
_ALSO = words(
    """
    abandon cancel detach-disk disable failover promote-replica remove-iam-policy-binding reset-windows-password restore
    restore-backup set-iam-policy set-password undeploy unlink
    """
)
_LETS_IN = ("add-metadata", "set-metadata")
_METADATA = ("ssh-keys", "startup-script", "enable-oslogin", "windows-startup-script")
_OWN_SETTINGS = words("auth components config configurations topic")
_POWERFUL = ("roles/owner", "roles/editor", "admin", "Admin")
_REACH = 6


@command("gcloud")
def gcloud(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=_VALUES, bundle=False)
    texts = [word.text for word in opts.operands]
    if only_talks(inv.args) or "help" in texts[:_REACH]:
        return
    groups = [text for text in texts if text not in ("alpha", "beta", "preview")]
    code = opts.value("--command")
    if "ssh" in groups[:4] and code is not None:
        low.shell(code, via="gcloud ssh")
        return
    if groups[:1] == ["storage"] and groups[1:2] in (["cp"], ["mv"], ["rsync"]):
        _storage(inv, low)
        return
    said = " ".join(word.text for word in inv.args)
    if opens_to_everyone(inv.args):
        low.emit("privilege", " ".join(groups[:3]), rule="gcloud-public", grants=True, reason="Opens it to everyone.")
        return
    if any(word in _LETS_IN for word in groups) and any(name in said for name in _METADATA):
        low.emit("persistence", " ".join(groups[:3]), rule="gcloud-metadata",
                 reason="Lets a key in, or a script run, on machines from now on.")  # fmt: skip
        return
    if any(word.text.startswith("--no-") and "protection" in word.text for word in inv.args):
        low.emit("guard.tamper", " ".join(groups[:3]), rule="gcloud-protection", reason=_UNPROTECTED)
    if scales_to_zero(inv.args):
        low.emit("infra.destroy", " ".join(groups[:3]), rule="gcloud-scale-zero",
                 reason="Stops every copy of a service.")  # fmt: skip
        return
    if groups[:4] == ["iam", "service-accounts", "keys", "create"]:
        low.emit(
            "privilege", " ".join(groups[4:]), rule="gcloud-key", grants=True, reason="Makes a lasting credential."
        )
        return
    # Group names such as `run` and `logs` are also verbs elsewhere; here only the destructive word counts.
    for index, word in enumerate(opts.operands[:_REACH]):
        found = find_verb((word,), also=_ALSO)
        if found is not None and not (index == 0 and len(opts.operands) == 1):
            low.emit(
                "infra.destroy",
                " ".join(texts[index + 1 :]) or " ".join(texts[:index]),
                at=word,
                rule=f"gcloud-{verb_of(word.text)}",
                reason=f"`gcloud {' '.join(texts[: index + 1])}` takes away something that others may use.",
                recoverable=groups[0] in _OWN_SETTINGS or is_local(groups[:index]),
                wide="projects" in texts[:index] and word.text == "delete",
            )
            return
        if word.text in ("list", "describe", "get", "create", "update", "add", "set", "get-value"):
            return
        if word.text == "add-iam-policy-binding":
            role, member = opts.value("--role"), opts.value("--member")
            public = member is not None and member.text in ("allUsers", "allAuthenticatedUsers")
            if public or (role is not None and role.text.endswith(_POWERFUL)):
                low.emit(
                    "privilege",
                    " ".join(texts[index + 1 :]),
                    rule="gcloud-grant",
                    grants=True,
                    reason="Gives wide rights.",
                )
            return


def _storage(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=_VALUES, bundle=False)
    paths = opts.operands[2:]
    if opts.has("--delete-unmatched-destination-objects"):
        low.emit("data.destroy", paths[-1].text if paths else "", rule="gcloud-rsync-delete", reason=_MIRROR)
    if len(paths) >= 2:
        transfer(paths[0], paths[-1], low, recursive=opts.has("-r", "--recursive") or opts.word(1) == "rsync")


_UNPROTECTED = "Lets it be deleted from now on."
_MIRROR = "Deletes in the target whatever the source does not have."


@command("gsutil")
def gsutil(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=("-o", "-h", "-u", "-i"), stop=True)
    sub, rest = opts.word(0), parse(opts.operands[1:], values=("-x", "-p", "-l", "-c", "-L"))
    target = rest.operands[-1].text if rest.operands else ""
    if only_talks(opts.operands) or rest.has("-n"):
        return
    match sub:
        case "rm" | "rb":
            low.emit(
                "data.destroy",
                target,
                rule=f"gsutil-{sub}",
                reason="Deletes a bucket." if sub == "rb" else "Deletes objects of a bucket.",
                recursive=rest.has("-r", "-R"),
                instead=f"gsutil ls {target}" if target else "",
            )
        case "rsync" if rest.has("-d"):
            low.emit("data.destroy", target, rule="gsutil-rsync-delete", reason=_MIRROR)
        case "acl" | "iam" | "defacl" if any("allusers" in word.text.lower() for word in rest.operands):
            low.emit("privilege", target, rule="gsutil-public", grants=True, reason="Opens data to everyone.")
        case "lifecycle" | "versioning" | "retention" if rest.word(0) in ("set", "clear"):
            low.emit("data.destroy", target, rule=f"gsutil-{sub}", reason="Changes how long objects are kept.")
        case "cp" | "mv" | "rsync" if len(rest.operands) >= 2:
            transfer(rest.operands[0], rest.operands[-1], low, recursive=rest.has("-r", "-R"))
        case _:
            pass


@command("bq")
def bq(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args, values=("--project_id", "--dataset_id", "--location", "--format", "--parameter"), bundle=False
    )
    if only_talks(inv.args):
        return
    match opts.word(0):
        case "rm":
            low.emit(
                "data.destroy",
                " ".join(word.text for word in opts.operands[1:]),
                rule="bq-rm",
                reason="Deletes a table or a data set.",
                recursive=opts.has("-r"),
                forced=opts.has("-f"),
            )
        case "query":
            for word in opts.operands[1:2]:
                low.code("sql", word, via="bq")
            if not opts.operands[1:] and inv.stdin is not None:
                low.code("sql", inv.stdin, via="bq")
        case "load" | "cp" | "mk" if opts.has("--replace", "-f", "--force"):
            low.emit("data.destroy", opts.word(1), rule="bq-replace", reason="Replaces a table.")
        case _:
            pass
