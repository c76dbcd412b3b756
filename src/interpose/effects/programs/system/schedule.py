"""Commands that run something later or somewhere else on this machine: cron, at, programs kept running."""

from __future__ import annotations

from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Stream
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.streams import informs, standard_input

_LATER = "Runs something later, when nobody looks."


@command("crontab", "fcrontab")
def crontab(inv: Invocation, low: Lowering) -> None:
    """The table of jobs: shown, replaced or removed."""
    opts = parse(inv.args, values=("-u", "-n", "-c"))
    if informs(opts) or opts.has("-l", "-V", "-T"):
        return
    if opts.has("-r"):
        low.emit("data.destroy", "crontab", rule="crontab-remove", reason="Removes all scheduled jobs of this user.",
                 instead="crontab -l")  # fmt: skip
        return
    low.emit("persistence", "crontab", rule="crontab", reason=_LATER)
    content = (
        standard_input(inv) if opts.word(0) == "-" else low.read(opts.operands[0]) if opts.operands else Stream("")
    )
    if content.text or "remote" in content.taints:
        low.shell(_jobs(content), via="cron")


def _jobs(table: Stream) -> Stream:
    """The commands of a crontab: what stands after the five fields of time, or after `@daily` and its kind."""
    if table.text is None:
        return table
    jobs: list[str] = []
    for line in table.text.splitlines():
        fields = line.split(None, 1 if line.lstrip().startswith("@") else 5)
        if fields and not line.lstrip().startswith("#") and len(fields) in (2, 6):
            jobs.append(fields[-1])
    return Stream("\n".join(jobs), table.taints)


@command("at", "batch")
def at(inv: Invocation, low: Lowering) -> None:
    """Jobs come from standard input or a file."""
    opts = parse(inv.args, values=("-f", "-q", "-t"))
    if informs(opts) or opts.has("-l", "-V", "-c"):
        return
    if opts.has("-d", "-r"):
        low.emit("data.destroy", opts.word(0), rule="jobs-remove", reason="Removes a scheduled job.")
        return
    low.emit("persistence", inv.name, rule="at-job", reason=_LATER)
    script = opts.value("-f")
    if script is not None:
        low.run_file(script, via=inv.name)
    elif inv.stdin is not None:
        low.shell(inv.stdin, via=inv.name)


@command("pm2", "forever")
def keeper(inv: Invocation, low: Lowering) -> None:
    """Keeps a program running. `pm2 start 'npm run api'` gives the text to a shell."""
    opts = parse(inv.args, values=("--name", "-n", "-i", "--interpreter", "--cron", "--log", "--cwd"), stop=False)
    if opts.word(0) not in ("start", "restart") or len(opts.operands) < 2:
        return
    script = opts.operands[1]
    if any(sign in script.text for sign in " |;&<>"):
        low.shell(script, via=inv.name)
    elif "/" in script.text or "." in script.text:
        low.run_file(script, via=inv.name, language="python" if script.text.endswith(".py") else "javascript")
