"""`interpose check --explain`: what every guard and rule says to a call, who decides, what would be allowed."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

import msgspec

from interpose.composition.build import load_config, open_rules
from interpose.core.errors import InvalidCallError, UnloadableError
from interpose.core.types import Context, ToolCall
from interpose.doors.cli import EXIT_CONFIG, EXIT_USAGE
from interpose.doors.cli.auditing.jsonl_rows import BadRow, strict_json
from interpose.doors.cli.check import EXIT_CODES
from interpose.doors.cli.explaining.call_arguments import UsageError, given_arguments
from interpose.doors.cli.explaining.explain_call import Explanation, explanation, without_judge
from interpose.doors.cli.explaining.explain_text import explanation_text
from interpose.doors.cli.explaining.verdict_text import Ink, visible, visible_lines
from interpose.doors.cli.shared.json_output import encoded
from interpose.doors.cli.shared.terminal import colours_wanted
from interpose.rules.policy.file_format import CallForm
from interpose.rules.policy.load import RulePlace
from interpose.rules.policy.reload import Rules
from interpose.rules.policy_trials.rule_accounts import Account


def run_explain(args: argparse.Namespace) -> int:
    """Run `interpose check --explain`."""
    try:
        call = _call(args)
        ruled = open_rules(load_config(), call.context.cwd, _rules(args))
        told = explanation(call, ruled.engine, ruled.policy.policy)
        if args.json:
            sys.stdout.buffer.write(msgspec.json.format(encoded(as_data(told)), indent=2) + b"\n")
        else:
            print(explanation_text(told, Ink(colours_wanted())))
    except (UsageError, BadRow, InvalidCallError) as error:
        print(f"interpose check --explain: {visible(str(error))}", file=sys.stderr)
        return EXIT_USAGE
    except UnloadableError as error:
        print(f"interpose check --explain: the policy can't be loaded\n{visible_lines(str(error))}", file=sys.stderr)
        return EXIT_CONFIG
    return EXIT_CODES.get(told.outcome, 0)


def _call(args: argparse.Namespace) -> ToolCall:
    arguments = given_arguments(args.command, args.arg)
    here = args.cwd or os.getcwd()  # noqa: PTH109 - a plain text, as the shell would say it
    if arguments:
        form = CallForm(args.tool, arguments)
    elif sys.stdin.isatty():
        raise UsageError("nothing to explain: give a command, --tool with --arg, or a call as JSON on stdin")
    else:
        form = _read()
    context = Context(
        cwd=form.cwd or here,
        agent_id=form.agent or args.agent,
        role=form.role or args.role,
        principal=form.principal or args.principal,
        session_id=form.session or args.session,
        source="explain",
    )
    return ToolCall(form.tool, form.args, "explain", context)


def _read() -> CallForm:
    given = sys.stdin.buffer.read()
    if not given.strip():
        raise UsageError("nothing to explain: give a command, --tool with --arg, or a call as JSON on stdin")
    try:
        return msgspec.convert(strict_json(given), CallForm, strict=True)
    except (msgspec.ValidationError, RecursionError) as error:
        raise UsageError(f"the call on stdin is not understood: {error}") from None


def _rules(args: argparse.Namespace) -> Rules:
    if args.policy or args.pack:
        return Rules(tuple(RulePlace(path) for path in args.policy), tuple(args.pack), without_judge)
    return Rules(register=without_judge)


def as_data(told: Explanation) -> dict[str, Any]:
    """An explanation for programs."""
    return {
        "decision": told.outcome,
        "interceptor": told.interceptor,
        "rule": told.rule,
        "severity": told.severity,
        "reason": told.reason,
        "approver": told.approver,
        "policy": told.revision,
        "guards": told.guards,
        "rules": [_rule_data(account, told.skipped) for account in told.rules],
        "advice": told.advice,
        "changes": told.changes,
        "refused": told.refused,
        **({} if told.arguments is None else {"arguments": told.arguments}),
    }


def _rule_data(account: Account, skipped: str) -> dict[str, Any]:
    rule = account.rule
    return {
        "rule": rule.id,
        "file": rule.source.file,
        "line": rule.source.line,
        "level": rule.source.level,
        "mode": rule.mode,
        "severity": rule.severity,
        "said": account.said,
        "reason": rule.text if account.said in ("deny", "ask", "rewrite", "note") else account.why,
        "saw": dict(account.saw),
        "because": [{"variable": name, "value": value} for name, value in account.causes],
        "skipped_by": skipped,
    }
