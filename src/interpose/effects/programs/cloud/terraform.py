"""Infrastructure as code (terraform, tofu, terragrunt, pulumi, cdk), and remote control by ansible, salt and pssh."""

from __future__ import annotations

from msgspec.structs import replace

from interpose.effects.handler_table import command
from interpose.effects.invocation import NOTHING, Invocation, Lowering, Stream, Word
from interpose.effects.programs.shared.options import Options, parse
from interpose.effects.programs.shared.verbs import general, only_talks

_VALUES = (
    "-chdir", "-var", "-var-file", "-target", "-state", "-state-out", "-backup", "-out", "-parallelism",
    "-lock-timeout", "-backend-config", "-replace", "-config",
)  # fmt: skip
_PULUMI_VALUES = ("--stack", "--cwd", "--target", "--color", "--verbose", "--message", "--config-file")


@command("terraform", "tofu", "opentofu", "terragrunt", "tf")
def terraform(inv: Invocation, low: Lowering) -> None:
    if only_talks(inv.args):
        return
    # Both `-auto-approve` and `--auto-approve` are accepted.
    args = tuple(_one_dash(word) for word in inv.args)
    opts = parse(args, values=_VALUES, bundle=False)
    steps = [word.text for word in opts.operands if word.text not in ("run-all", "run", "stack", "--")]
    sub, second = [*steps, "", ""][:2]
    everywhere = opts.has("-all") or any(word.text == "run-all" for word in opts.operands) or sub.endswith("-all")
    unattended = opts.has("-auto-approve", "-terragrunt-non-interactive", "-non-interactive")
    match sub.removesuffix("-all"), second:
        case ("destroy", _):
            _destroy(opts, low, unattended or everywhere)
        case ("apply", _) if opts.has("-destroy") and not _is_false(opts.value("-destroy")):
            _destroy(opts, low, unattended or everywhere)
        case ("apply", plan) if unattended or everywhere or plan:
            low.emit(
                "infra.destroy",
                plan or "all resources",
                rule="terraform-apply",
                certainty="possible",
                reason="Changes real infrastructure without anyone seeing the plan; changes may replace or delete.",
                instead="terraform plan",
            )
        case ("state", "rm" | "mv" | "push" | "replace-provider"):
            low.emit(
                "infra.destroy",
                " ".join(steps[2:]),
                rule="terraform-state",
                reason="Rewrites the record of what exists: resources are forgotten or made anew.",
                instead="terraform state list",
            )
        case ("workspace", "delete"):
            low.emit(
                "infra.destroy",
                " ".join(steps[2:]),
                rule="terraform-workspace-delete",
                reason="Deletes a workspace with the record of its resources.",
            )
        case ("force-unlock", _):
            low.emit(
                "infra.destroy",
                second,
                rule="terraform-force-unlock",
                reason="Breaks a lock that another run may hold.",
            )
        case ("taint", _):
            low.emit("infra.destroy", second, recoverable=True)
        case _:
            pass


@command("pulumi")
def pulumi(inv: Invocation, low: Lowering) -> None:
    if only_talks(inv.args):
        return
    opts = parse(inv.args, values=_PULUMI_VALUES, aliases={"-y": "--yes", "-s": "--stack", "-C": "--cwd"}, bundle=False)
    unattended = opts.has("--yes", "--skip-preview", "-f")
    match opts.word(0), opts.word(1):
        case ("destroy" | "down" | "dn", _):
            _destroy(opts, low, unattended)
        case ("up" | "update" | "refresh", _) if unattended:
            low.emit(
                "infra.destroy",
                "all resources",
                certainty="possible",
                rule="pulumi-up",
                reason="Changes real infrastructure without anyone seeing the preview.",
                instead="pulumi preview",
            )
        case ("stack", "rm" | "remove"):
            low.emit("infra.destroy", opts.word(2), rule="pulumi-stack-rm", reason="Deletes a stack and its history.")
        case ("state", "delete" | "unprotect"):
            low.emit("infra.destroy", opts.word(2), rule="pulumi-state", reason="Rewrites the record of what exists.")
        case ("cancel", _):
            low.emit("infra.destroy", opts.word(1), rule="pulumi-cancel", reason="Stops an update half-way.")
        case _:
            general(inv, low)


@command("cdk", "cdktf", "aws-cdk", "cdk8s")
def cdk(inv: Invocation, low: Lowering) -> None:
    if only_talks(inv.args):
        return
    opts = parse(
        inv.args, values=("--app", "-a", "--context", "-c", "--profile", "--output", "-o", "--require-approval")
    )
    approval = opts.value("--require-approval")
    match opts.word(0):
        case "destroy":
            _destroy(opts, low, opts.has("--force", "-f", "--auto-approve") and opts.has("--all"))
        case "deploy" if opts.has("--auto-approve") or (approval is not None and approval.text == "never"):
            low.emit(
                "infra.destroy",
                opts.word(1),
                certainty="possible",
                rule="cdk-deploy",
                reason="Changes real infrastructure without anyone seeing the changes.",
                instead="cdk diff",
            )
        case "gc":
            low.emit("infra.destroy", opts.word(1), rule="cdk-gc", reason="Deletes assets of earlier deployments.")
        case _:
            pass


@command("ansible")
def ansible(inv: Invocation, low: Lowering) -> None:
    """An ad-hoc task on other machines: its shell text is code."""
    opts = parse(
        inv.args,
        values=(
            "-m",
            "-a",
            "-i",
            "-u",
            "-l",
            "-e",
            "-f",
            "-T",
            "-t",
            "-B",
            "-P",
            "-M",
            "--become-user",
            "--private-key",
        ),
        aliases={"--module-name": "-m", "--args": "-a", "--inventory": "-i", "--user": "-u", "--limit": "-l"},
    )
    if only_talks(inv.args) or opts.has("-C", "--list-hosts", "--syntax-check"):
        return
    module = opts.value("-m")
    task = opts.value("-a")
    name = module.text.rpartition(".")[2] if module is not None else "command"
    if name in ("command", "shell", "raw", "script") and task is not None:
        low.shell(task, via="ansible")
    elif task is not None and "state=absent" in task.text.replace(" ", ""):
        low.emit("infra.destroy", opts.word(0), rule="ansible-absent", reason="Removes something from other machines.")
    elif task is not None and name in ("copy", "template", "get_url", "lineinfile", "blockinfile", "unarchive", "cron"):
        for part in task.text.split():
            key, _, value = part.partition("=")
            if key in ("dest", "path") and opts.word(0) in ("localhost", "127.0.0.1"):
                low.write(
                    replace(task, text=value), Stream(None, frozenset({"remote"}) if name == "get_url" else NOTHING)
                )
        if name == "cron":
            low.emit("persistence", opts.word(0), rule="ansible-cron", reason="Plants a job that runs later.")
    elif name in ("reboot", "win_reboot"):
        low.emit("infra.destroy", opts.word(0), rule="ansible-reboot", reason="Restarts other machines.")


@command("salt", "salt-call", "salt-ssh")
def salt(inv: Invocation, low: Lowering) -> None:
    operands = parse(inv.args, values=("-c", "-t", "--out", "--timeout", "-l"), bundle=False).operands
    for index, word in enumerate(operands[:3]):
        if word.text in ("cmd.run", "cmd.shell", "cmd.run_all", "cmd.script") and index + 1 < len(operands):
            low.shell(operands[index + 1], via=inv.name)
        elif word.text.endswith((".remove", ".purge", ".delete", ".absent")) or word.text == "system.reboot":
            low.emit("infra.destroy", word.text, at=word, rule="salt-remove", reason="Removes something from minions.")


@command("pssh", "parallel-ssh", "clush", "pdsh", "dsh")
def fleet(inv: Invocation, low: Lowering) -> None:
    """A shell text on many machines: the last operands are the command."""
    opts = parse(inv.args, values=("-h", "-H", "-l", "-p", "-t", "-o", "-e", "-w", "-g", "-m", "-M", "-x"), stop=True)
    if opts.operands:
        low.shell(Word(" ".join(word.text for word in opts.operands), opts.operands[0].span), via=inv.name)


def _destroy(opts: Options, low: Lowering, unattended: bool) -> None:
    targets = [word.text for word in opts.values("-target", "--target", "-t")] or [
        word.text for word in opts.operands[1:] if word.text not in ("destroy", "run-all")
    ]
    low.emit(
        "infra.destroy",
        " ".join(targets) or "all resources",
        rule="infrastructure-destroy",
        reason="Destroys real infrastructure, and the data in it.",
        wide=unattended and not targets,
        instead="terraform plan -destroy" if not targets else "",
    )


def _one_dash(word: Word) -> Word:
    if word.text.startswith("--") and len(word.text) > 2:
        return Word(word.text[1:], word.span, word.glob, word.quoted, word.taints)
    return word


def _is_false(word: Word | None) -> bool:
    return word is not None and word.text.lower() == "false"
