"""Every kind of rule of governance as an interceptor, in the order in which they are asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from interpose.core.interceptor import Registration
from interpose.core.registration import registration
from interpose.core.types import Allow, Command, HookPoint, Report, ToolCall, ToolOutcome, Transform
from interpose.rules.governance.chains.chains import call_chain_rulings, chain_rulings, chains_concern
from interpose.rules.governance.commands.command_categories import command_rulings
from interpose.rules.governance.files.frontmatter import with_frontmatter
from interpose.rules.governance.files.project_files import WalkedFiles
from interpose.rules.governance.files.project_root import project_root
from interpose.rules.governance.files.rulebook import Seat
from interpose.rules.governance.governance_interceptors import PRIORITY, Rules, governance_entry, note_of
from interpose.rules.governance.governed_context import GovernedView, view_of
from interpose.rules.governance.roles.bypasses import Bypass
from interpose.rules.governance.roles.delegation import delegation_rulings
from interpose.rules.governance.roles.first_tools import first_tool_rulings
from interpose.rules.governance.roles.roles import role_rulings
from interpose.rules.governance.roles.scopes import scope_rulings
from interpose.rules.governance.roles.spawns import REPORTING
from interpose.rules.governance.rulings import Ruling
from interpose.rules.governance.sessions.halts import halt_rulings
from interpose.rules.governance.stalls.stalls import stall_rulings
from interpose.rules.governance.stalls.validations import RULE as VALIDATION_RULE
from interpose.rules.governance.stalls.validations import blocked_text, report_of

BypassWord = Callable[[str, str], Bypass | None]
"""The operator's word by which a command passes in a session."""

_LARGEST_FILE = 1 << 20


def nobody(_command: str, _session: str) -> None:
    """No operator gave their word."""
    return


def governance_entries(bypass_of: BypassWord = nobody) -> tuple[Registration, ...]:
    """The interceptors. Each kind is one of its own: a rule that fails is a refusal, and touches no other."""
    files = WalkedFiles()

    def halted(_seat: Seat, view: GovernedView, call: ToolCall) -> tuple[Ruling, ...]:
        return halt_rulings(view.session, call)

    def role(seat: Seat, view: GovernedView, call: ToolCall) -> tuple[Ruling, ...]:
        return role_rulings(seat, call, view.home)

    def first_tool(seat: Seat, view: GovernedView, call: ToolCall) -> tuple[Ruling, ...]:
        return first_tool_rulings(seat, view.session, call)

    def delegation(seat: Seat, view: GovernedView, call: ToolCall) -> tuple[Ruling, ...]:
        return delegation_rulings(seat, view.session, call, view.now_ns)

    def scope(seat: Seat, view: GovernedView, call: ToolCall) -> tuple[Ruling, ...]:
        return scope_rulings(seat, call, view.home)

    def categories(seat: Seat, view: GovernedView, call: ToolCall) -> tuple[Ruling, ...]:
        return command_rulings(seat, call, view.home)

    def stalled(_seat: Seat, view: GovernedView, call: ToolCall) -> tuple[Ruling, ...]:
        return stall_rulings(view.session, call.context.agent_id)

    def chained_call(seat: Seat, view: GovernedView, call: ToolCall) -> tuple[Ruling, ...]:
        chains, home = seat.book.chains, view.home
        if not chains.rules or not chains_concern(chains, call, home):
            return ()
        return call_chain_rulings(
            chains, call, project_root(call.context.cwd, home), view.session, view.now_ns, files, home=home,
            bypass_of=lambda name: bypass_of(name, view.session.id),
        )  # fmt: skip

    def chained_command(seat: Seat, view: GovernedView, command: Command) -> tuple[Ruling, ...]:
        chains = seat.book.chains
        if not chains.rules:
            return ()
        return chain_rulings(
            chains, command, project_root(command.context.cwd, view.home), view.session, view.now_ns, files,
            bypass_of=lambda name: bypass_of(name, view.session.id),
        )  # fmt: skip

    rules: tuple[tuple[str, Rules], ...] = (
        ("halt", halted), ("roles", role), ("first-tools", first_tool), ("delegation", delegation),
        ("scopes", scope), ("commands", categories), ("chains", chained_call), ("stalls", stalled),
    )  # fmt: skip
    before = HookPoint.TOOL_BEFORE
    return (
        *(governance_entry(kind, before, rule, PRIORITY - at) for at, (kind, rule) in enumerate(rules)),
        governance_entry("command-chains", HookPoint.COMMAND_BEFORE, chained_command),
        # Below the guards and the policies of the organisation and the user: they see what would really be written.
        registration(
            id="governance:frontmatter", name=before, interceptor=Frontmattering(), priority=PRIORITY - len(rules),
            tool_matcher="^(?:write|edit)$", kind="governance",
        ),
        registration(
            id="governance:validation", name=HookPoint.TOOL_AFTER, interceptor=Validating(), priority=PRIORITY,
            tool_matcher=REPORTING, kind="governance",
        ),
    )  # fmt: skip


class Validating:
    """Replaces the result of a validator that says `shouldBlock` by what it found."""

    def intercept(self, outcome: ToolOutcome) -> Allow | Transform[ToolOutcome] | Report[ToolOutcome]:
        """The result with the violations in its place."""
        view = view_of(outcome.call.context)
        report = None if view is None else report_of(outcome.call, outcome)
        if view is None or report is None or not report.blocks:
            return Allow()
        why = f"its validator blocks it: {len(report.violations)} violations"
        if not view.enforced:
            return Report(
                (), (note_of("validation", Ruling(said="note", rule=VALIDATION_RULE, reason=why, watch=True)),)
            )
        return Transform(replace(outcome, result=blocked_text(outcome.call, report)), why, VALIDATION_RULE)


class Frontmattering:
    """Gives managed markdown its frontmatter when it is written."""

    def intercept(self, call: ToolCall) -> Allow | Transform[ToolCall]:
        """The call with frontmatter in what it writes."""
        view = view_of(call.context)
        paths = [path for seat in (view.seats if view else ()) for path in seat.book.frontmatter.paths]
        if view is None or not paths or not view.enforced:
            return Allow()
        agent = call.context.agent_type or call.context.agent_id or call.context.role
        framed = with_frontmatter(paths, call, view.session.id, agent, _read_text, view.now_ns)
        return (
            Allow()
            if framed is None
            else Transform(framed, "frontmatter of managed markdown", "governance/frontmatter")
        )


def _read_text(path: str) -> str | None:
    """A file as it is now, if it is one, and not too large to be a document."""
    from interpose.core.formats.whole_files import read_bounded

    try:
        data = read_bounded(Path(path), _LARGEST_FILE)
        return None if data is None else data.decode("utf-8")
    except (OSError, ValueError):
        return None
