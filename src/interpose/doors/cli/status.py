"""`interpose status`: what holds here, who listens, what was recorded, which agents ask, what stands in their way."""

from __future__ import annotations

import argparse
from pathlib import Path
from time import time
from typing import Any

import msgspec

from interpose.core.config.load import load
from interpose.core.errors import ConfigError
from interpose.core.formats.counted import plural
from interpose.doors.cli import EXIT_CONFIG, version
from interpose.doors.cli.approving.pins_desk import pins_waiting
from interpose.doors.cli.explaining.verdict_text import Ink, visible
from interpose.doors.cli.installing.status_text import ledger_line, policy_of, problem_text, server_line
from interpose.doors.cli.shared.closed_values import directory
from interpose.doors.cli.shared.json_output import encoded
from interpose.doors.cli.shared.terminal import colours_wanted, hanging
from interpose.doors.hooks.install.doctor import installed_targets, since_when
from interpose.doors.hooks.install.gateway_plan import gateway_standings
from interpose.doors.hooks.install.last_heard import span
from interpose.doors.hooks.install.places import InstallTarget, spoken_path
from interpose.doors.hooks.install.plan import unread_by
from interpose.doors.hooks.install.records import Installed
from interpose.doors.hooks.install.running_agents import running_agents
from interpose.doors.hooks.install.situation import Situation, situation
from interpose.doors.hooks.install.unguarded import Unguarded, switched_off, unasked_work

_Targets = list[tuple[InstallTarget, Installed | None]]
_EPILOG = """`interpose doctor` tries the hooks out.

exit codes: 0 all is well, 64 wrong usage, 70 internal error, 78 rules or a configuration that can't be loaded"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `status` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("--cwd", type=directory, default="", help="where the agent works (default: here)")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def run(args: argparse.Namespace) -> int:
    """Run `interpose status`."""
    told: dict[str, Any] = {"version": version(), "unguarded": [], **policy_of(str(Path(args.cwd).absolute()))}
    now: Situation | None = None
    installed: list[Installed] = []
    targets: _Targets = []
    try:
        loaded = load()
        directory = Path(args.cwd).absolute()
        targets = installed_targets(loaded, directory)
        installed = [record for _, record in targets if record is not None]
        now = situation(loaded.config, since_when(targets))
        told["unguarded"] = _unguarded(targets, now, directory)
        told["fail_open"] = loaded.config.hooks.fail_open or any(record.fail_open for record in installed)
        told |= {"situation": now, "hosts": installed, "pins": pins_waiting(loaded.config)}
        told["gateways"] = gateway_standings(loaded)
    except ConfigError as error:
        told["problems"] = told["problems"] or [msgspec.to_builtins(problem) for problem in error.problems]
    if args.json:
        print(msgspec.json.format(encoded(told), indent=2).decode())
    else:
        _show(told, now, targets, Ink(colours_wanted()))
    return EXIT_CONFIG if told["problems"] else 0


def _show(told: dict[str, Any], now: Situation | None, targets: _Targets, ink: Ink) -> None:
    print(f"interpose {told['version']}")
    for word, text in _lines(told, now, targets, ink):
        print(hanging(f"{ink(f'{word:10}', '2')} ", text))
    for warning in told["unguarded"]:
        label = ink(f"{warning.level.upper():10}", "1;31" if warning.level == "open" else "33")
        print(hanging(f"{label} ", visible(warning.text)))
    for word, colour, found in (("problem", "31", told["problems"]), ("refused", "33", told["refused"])):
        for problem in found:
            print(hanging(f"{ink(f'{word:10}', colour)} ", visible(problem_text(problem))))


def _unguarded(targets: _Targets, now: Situation, directory: Path) -> list[Unguarded]:
    """What keeps agents from asking, of all whose hooks are installed."""
    running = running_agents()
    managed = {target.facts.name for target, _ in targets if target.scope == "managed"}
    unread = [Unguarded("installed", "open", why) for target, _ in targets if (why := unread_by(target))]
    return unread + [
        each
        for host, at_ns in since_when(targets).items()
        for each in (
            *switched_off(host, directory, managed=host in managed),
            *unasked_work(host, at_ns, now.seen.get(host), now.unheard, running),
        )
    ]


def _lines(
    told: dict[str, Any], now: Situation | None, targets: _Targets, ink: Ink
) -> list[tuple[str, str]]:  # fmt: skip
    policy = told["policy"]
    lines = [("guards", ", ".join(told["guards"]))]
    if policy:
        levels = ", ".join(f"{count} {name}" for name, count in told["levels"].items() if count)
        lines.append(("policy", f"revision {policy['revision']}, {plural(policy['rules'], 'rule')} ({levels})"))
        lines.append(("packs", ", ".join(told["packs"]) or "none"))
    else:
        lines.append(("policy", f"{ink('cannot be loaded', '31')}: every engine that starts now refuses to"))
    if now is None:
        return lines
    lines.append(("server", visible(server_line(now.hooks, time()))))
    lines.append(("ledger", visible(ledger_line(now.ledger))))
    if now.approvals:
        lines.append(("questions", f"{plural(now.approvals, 'waits', 'wait')} for an answer: interpose approvals list"))
    lines += [("PAUSED", ink(visible(text), "1;33")) for text in now.pauses]
    lines += [("notify", ink(visible(text), "33")) for text in now.notifications]
    for standing in told["gateways"]:
        fine = standing.starts and not standing.past
        lines.append(("gateway", visible(standing.text) if fine else ink(visible(standing.text), "33")))
    if told["pins"]:
        lines.append(("pins", ink(visible(told["pins"]), "33")))
    lines += [("off switch", ink(visible(text), "33")) for text in now.warned]
    if now.unapproved.count:
        lines.append(("ALARM", ink(visible(now.unapproved.text), "1;31")))
    for alarm in now.alarms:
        lines.append(("alarm", ink(visible(alarm), "31")))
    if told["fail_open"] or now.opened:
        last = f", the last {span(time() - now.opened_last)} ago" if now.opened else ""
        lines.append(("fail-open", ink(f"calls that can't be decided run; {now.opened} did{last}", "31")))
    for target, _ in targets:
        lines.append(("agent", visible(_agent(target, now))))
    if not targets:
        lines.append(("agents", "none installed: interpose install --list"))
    return lines


def _agent(target: InstallTarget, now: Situation) -> str:
    seen = now.seen.get(target.facts.name)
    heard = f"last heard {span(time() - seen.heard_ns / 1e9)} ago" if seen and seen.heard_ns else "never heard yet"
    return f"{target.facts.title}, {heard}, {spoken_path(target.path)}"
