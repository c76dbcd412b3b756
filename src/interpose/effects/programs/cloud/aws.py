"""The AWS command line: `aws SERVICE OPERATION`, where the operation begins with its verb."""

from __future__ import annotations

import json

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import NOTHING, Invocation, Lowering, Stream, Word
from interpose.effects.programs.shared.options import Options, parse
from interpose.effects.programs.shared.transfer import holds_home
from interpose.effects.programs.shared.verbs import only_talks

SECRET = frozenset({"secret"})

_GLOBALS = words(
    """
    --ca-bundle --cli-binary-format --cli-connect-timeout --cli-read-timeout --color --endpoint-url --output
    --profile --query --region
    """
)
_DESTROY = words(
    """
    abort cancel close deactivate decline delete deprecate deprovision deregister detach disable disassociate discard
    dissociate evict expire failover flush force leave pause purge reboot reject release remove reset retire revoke
    rollback schedule suspend terminate unassign uninstall unlink unregister unsubscribe untrust withdraw
    """
)
_DISRUPTIVE = {
    "cloudfront create-invalidation": "Empties the cache in front of a site.",
    "cloudtrail stop-logging": "Stops the record of who did what.",
    "cloudtrail update-trail": "Changes the record of who did what.",
    "configservice stop-configuration-recorder": "Stops the record of changes.",
    "ec2 modify-instance-attribute": "Changes a running machine.",
    "kms disable-key": "Makes everything under this key unreadable.",
    "kms schedule-key-deletion": "Makes everything under this key unreadable for ever.",
    "organizations close-account": "Closes an account.",
    "rds reboot-db-instance": "Interrupts a database.",
    "route53 change-resource-record-sets": "Changes where a domain points.",
    "s3api put-bucket-lifecycle-configuration": "Lets objects expire by rule.",
    "s3api put-bucket-versioning": "Changes whether deleted objects can be had again.",
    "s3api put-public-access-block": "Changes what keeps a bucket from the public.",
    "cloudformation set-stack-policy": "Changes what keeps a stack from being replaced.",
    "cloudtrail put-event-selectors": "Changes the record of who did what.",
    "guardduty update-detector": "Changes what watches over the account.",
    "logs put-retention-policy": "Changes how long records are kept.",
    "rds restore-db-cluster-to-point-in-time": "Makes a database anew from an older state.",
    "route53domains transfer-domain": "Moves a domain to another account.",
    "route53domains update-domain-nameservers": "Changes where a domain points.",
    "s3api put-bucket-replication": "Copies a bucket to another place from now on.",
    "secretsmanager rotate-secret": "Replaces a secret that running software uses.",
    "secretsmanager put-resource-policy": "Changes who may read a secret.",
    "secretsmanager put-secret-value": "Replaces a secret that running software uses.",
    "secretsmanager update-secret": "Replaces a secret that running software uses.",
    "secretsmanager update-secret-version-stage": "Changes which version of a secret running software gets.",
    "sqs set-queue-attributes": "Changes a queue that others use.",
}
_HARMLESS_ENDS = words(
    """
    cancel-query cancel-statement
    """
)
"""What looks like an end and costs nothing: a search or a build is started again."""
_GRANTS = {
    "iam add-user-to-group": "Gives a user the rights of a group.",
    "iam attach-group-policy": "Gives rights to a group.",
    "iam attach-role-policy": "Gives rights to a role.",
    "iam attach-user-policy": "Gives rights to a user.",
    "iam create-access-key": "Makes a lasting credential.",
    "iam create-login-profile": "Gives a user a console password.",
    "iam create-policy-version": "Changes what a policy allows.",
    "iam put-group-policy": "Gives rights to a group.",
    "iam put-role-policy": "Gives rights to a role.",
    "iam put-user-policy": "Gives rights to a user.",
    "iam update-assume-role-policy": "Changes who may take a role.",
    "iam update-login-profile": "Changes a user's console password.",
    "iam upload-ssh-public-key": "Lets a key into an account.",
    "iam set-default-policy-version": "Changes what a policy allows.",
    "iam add-role-to-instance-profile": "Gives machines the rights of a role.",
    "iam update-access-key": "Changes whether a credential works.",
    "cognito-idp admin-set-user-password": "Changes a user's password.",
    "cognito-idp admin-add-user-to-group": "Gives a user the rights of a group.",
    "kms create-grant": "Lets others use a key.",
    "organizations attach-policy": "Changes what whole accounts may do.",
    "ec2-instance-connect send-ssh-public-key": "Lets a key into a machine.",
    "lambda add-permission": "Lets others call a function.",
}
_S3_VALUES = words(
    """
    --acl --cache-control --content-disposition --content-encoding --content-type --exclude --expires --grants
    --include --metadata --metadata-directive --page-size --sse --sse-c --sse-kms-key-id --storage-class
    """
)
_REMOTE = ("s3://", "gs://", "https://", "http://", "abfs://")
_NAMES = ("-arn", "-bucket", "-id", "-identifier", "-ids", "-name", "-names", "-url")
_PUBLIC = ("public-read", "public-read-write", "authenticated-read", "website")


@command("aws", "aws2", "awslocal")
def aws(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=_GLOBALS, bundle=False)
    service, operation = opts.word(0), opts.word(1)
    if _talks(inv.args, opts):
        return
    if service == "s3":
        _s3(operation, inv.args, low)
        return
    key = f"{service} {operation}"
    if key in _DISRUPTIVE:
        low.emit("infra.destroy", _named(inv.args), rule=f"aws-{operation}", reason=_DISRUPTIVE[key])
    elif key in _GRANTS:
        low.emit("privilege", _named(inv.args), rule=f"aws-{operation}", grants=True, reason=_GRANTS[key])
    elif _destroys(operation):
        low.emit(
            "infra.destroy",
            _named(inv.args) or service,
            at=opts.operands[1],
            rule=f"aws-{operation}",
            reason=f"`aws {key}` takes away something that others may use.",
        )
    elif service == "configure":
        _configure(operation, opts, low)
    else:
        _opens(key, inv.args, low)
        _remote(key, inv.args, low)


def _destroys(operation: str) -> bool:
    verb = operation.removeprefix("batch-").removeprefix("admin-").removeprefix("bulk-").partition("-")[0]
    return (verb in _DESTROY and operation not in _HARMLESS_ENDS) or operation.startswith("stop-db-")


def _talks(args: tuple[Word, ...], opts: Options) -> bool:
    return (
        only_talks(args)
        or any(word.text == "help" for word in opts.operands)
        or opts.has("--generate-cli-skeleton", "--no-execute-changeset")
    )


def _s3(operation: str, args: tuple[Word, ...], low: Lowering) -> None:
    opts = parse(args, values=_GLOBALS | _S3_VALUES, bundle=False)
    paths = opts.operands[2:]
    match operation:
        case "rm" | "rb":
            low.emit(
                "data.destroy",
                paths[0].text if paths else "",
                rule=f"aws-s3-{operation}",
                reason="Deletes a bucket." if operation == "rb" else "Deletes objects of a bucket.",
                recursive=opts.has("--recursive"),
                forced=opts.has("--force"),
                instead=f"aws s3 ls {paths[0].text}" if paths else "",
            )
        case "sync" if opts.has("--delete"):
            low.emit(
                "data.destroy",
                paths[-1].text if paths else "",
                rule="aws-s3-sync-delete",
                reason="Deletes in the target whatever the source does not have.",
                instead="aws s3 sync --dryrun " + " ".join(path.text for path in paths),
            )
        case "mv" if opts.has("--recursive") and paths and paths[0].text.startswith(_REMOTE):
            low.emit("data.destroy", paths[0].text, at=paths[0], rule="aws-s3-mv",
                     reason="Takes all of this out of a bucket.")  # fmt: skip
        case _:
            pass
    acl = opts.value("--acl")
    if acl is not None and acl.text in _PUBLIC:
        low.emit(
            "privilege",
            paths[-1].text if paths else "",
            at=acl,
            rule="aws-public",
            grants=True,
            reason="Opens data to everyone.",
        )
    if operation in ("cp", "mv", "sync") and len(paths) >= 2:
        transfer(paths[0], paths[1], low, recursive=operation == "sync" or opts.has("--recursive"))


def transfer(source: Word, target: Word, low: Lowering, *, recursive: bool) -> None:
    """Files between this machine and a bucket: what goes up may be secret, what comes down is written."""
    if source.text.startswith(_REMOTE):
        if not target.text.startswith(_REMOTE):
            low.emit("net.download", source.text, at=source)
            if target.text != "-":
                low.write(target, Stream(taints=frozenset({"remote"})))
        return
    sent = low.read(source, recursive=recursive) if source.text != "-" else Stream(taints=NOTHING)
    low.emit("net.upload", target.text, at=target, secret="secret" in sent.taints,
             file=recursive and holds_home(source, low))  # fmt: skip


def _configure(operation: str, opts: Options, low: Lowering) -> None:
    name = opts.word(2)
    if operation == "get" and name.rpartition(".")[2] in ("aws_secret_access_key", "aws_session_token"):
        low.emit("secret.read", name, rule="aws-secret-key", reason="Prints the secret key of this account.")
        low.output(Stream(taints=SECRET))


def _opens(key: str, args: tuple[Word, ...], low: Lowering) -> None:
    texts = [word.text for word in args]
    joined = "".join(texts).replace(" ", "").replace('\\"', '"')
    open_net = "0.0.0.0/0" in joined or "::/0" in joined
    if (
        (key in _NETWORK_RULES and open_net)
        or (key.endswith("-attribute") and ("Group=all" in joined or "--group-namesall" in joined or _adds_all(texts)))
        or "--publicly-accessible" in texts
        or (key.startswith("lambda ") and "--auth-typeNONE" in joined)
        or ("put-" in key and key.endswith("-policy") and ('"Principal":"*"' in joined or '"AWS":"*"' in joined))
    ):
        low.emit("privilege", _named(args), rule="aws-public", grants=True, reason="Opens it to everyone.")
    elif key in ("s3api put-bucket-acl", "s3api put-object-acl") and any(text in _PUBLIC for text in texts):
        low.emit("privilege", _named(args), rule="aws-public", grants=True, reason="Opens data to everyone.")
    elif any(text.startswith("--no-") and "protection" in text for text in texts) or (
        "deletion_protection" in joined and "false" in joined
    ):
        low.emit("guard.tamper", _named(args), rule="aws-deletion-protection", reason="Lets it be deleted from now on.")
    elif key == "ssm put-parameter" and "--overwrite" in texts:
        low.emit("infra.destroy", _named(args), rule="aws-overwrite", reason="Replaces a value that software uses.")
    elif key in _ITEMS and ("DeleteRequest" in joined or '"Delete"' in joined):
        low.emit("data.destroy", _named(args), rule="aws-delete-items", reason="Deletes items of a table.")
    elif _scales_to_zero(texts):
        low.emit("infra.destroy", _named(args), rule="aws-scale-zero", reason="Stops every copy of a service.")


_NETWORK_RULES = ("ec2 authorize-security-group-ingress", "ec2 modify-security-group-rules",
                  "rds authorize-db-security-group-ingress", "redshift authorize-cluster-security-group-ingress",
                  "ec2 create-network-acl-entry", "ec2 replace-network-acl-entry")  # fmt: skip
_ITEMS = ("dynamodb batch-write-item", "dynamodb transact-write-items")
_COUNTS = ("--desired-count", "--desired-capacity", "--max-size", "--reserved-concurrent-executions")


def _adds_all(texts: list[str]) -> bool:
    """Whether a snapshot is handed to everybody: `--values-to-add all`."""
    return any(text == "--values-to-add" and texts[i + 1 : i + 2] == ["all"] for i, text in enumerate(texts))


def _scales_to_zero(texts: list[str]) -> bool:
    return any(
        (text in _COUNTS and texts[i + 1 : i + 2] == ["0"]) or (text.endswith("=0") and text[:-2] in _COUNTS)
        for i, text in enumerate(texts)
    )


def _remote(key: str, args: tuple[Word, ...], low: Lowering) -> None:
    """Commands that run on other machines."""
    if key == "ecs execute-command":
        code = parse(args, values=("--command",), bundle=False).value("--command")
        if code is not None:
            low.shell(code, via="aws ecs execute-command")
    elif key in ("ssm send-command", "ssm start-session"):
        for word in args:
            _, marker, value = word.text.replace("command=", "commands=").partition("commands=")
            if marker:
                for line in _lines(value):
                    low.shell(line, via="aws ssm send-command")


def _lines(value: str) -> list[str]:
    try:
        lines = json.loads(value)
    except (ValueError, RecursionError):
        return [value.strip("[]\"'")]
    return [line for line in lines if isinstance(line, str)] if isinstance(lines, list) else [str(lines)]


def _has(args: tuple[Word, ...], name: str) -> bool:
    return any(word.text == name for word in args)


def _named(args: tuple[Word, ...]) -> str:
    """The resource: the value of the first option that names one."""
    for index, word in enumerate(args[:-1]):
        if word.text.startswith("--") and word.text.endswith(_NAMES):
            return args[index + 1].text
    return ""
