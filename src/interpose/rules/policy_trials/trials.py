"""Testing policies: the examples inside rules, and case files, each as one result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from time import perf_counter
from typing import Literal

from msgspec import Struct

from interpose.core.errors import PolicyError
from interpose.rules.policy.compiled import CompiledRule, Policy, compile_rule
from interpose.rules.policy.examples import failure, shown
from interpose.rules.policy.load import RulePlace, RuleText, load_texts, pack_names, pack_text, read
from interpose.rules.policy.parsing import parse
from interpose.rules.policy.rules import PolicyProblem, Rule
from interpose.rules.policy_trials.case_files import CaseFile, failure_of, is_case_file, parse_cases

Status = Literal["passed", "failed", "skipped"]


class Trial(Struct, frozen=True):
    """One example or case, and what came of it. A `file` is a file that could not be read as what it is."""

    kind: Literal["example", "case", "file"]
    file: str
    line: int
    name: str
    status: Status
    message: str = ""
    rule: str = ""
    tags: tuple[str, ...] = ()
    seconds: float = 0.0


def run_trials(places: Sequence[RulePlace], *, packs: Sequence[str] = (), tags: Sequence[str] = ()) -> list[Trial]:
    """All examples and cases in these places; with `tags`, those that have one of them. Raises PolicyError if a
    place can't be read at all."""
    texts = read(places)
    rule_texts = [text for text in texts if not is_case_file(text.text)]
    trials = list(_examples([*rule_texts, *pack_texts(rule_texts, packs)]))
    for text in texts:
        if is_case_file(text.text):
            trials += _cases(text, rule_texts, packs)
    wanted = set(tags)
    return [trial for trial in trials if not wanted or trial.kind == "file" or wanted & set(trial.tags)]


def pack_texts(texts: Iterable[RuleText], packs: Sequence[str]) -> list[RuleText]:
    """The packs that are switched on, as far as they exist: an unknown one is a problem of the file that names it."""
    named = list(packs)
    for text in texts:
        try:
            named += [name for name, _ in parse(text.text, text.file, text.level).packs]
        except PolicyError:
            continue  # said where its examples are run
    known = pack_names()
    return [pack_text(name) for name in dict.fromkeys(named) if name in known]


def _examples(texts: Iterable[RuleText]) -> Iterator[Trial]:
    for text in texts:
        try:
            rules = parse(text.text, text.file, text.level, text.pack).rules
        except PolicyError as error:
            yield from _problems(error)
            continue
        for rule in rules:
            yield from _rule_trials(rule)


def _rule_trials(rule: Rule) -> Iterator[Trial]:
    try:
        compiled = compile_rule(rule)
    except PolicyError as error:
        yield from _problems(error)
        return
    yield from example_trials(compiled)


def example_trials(compiled: CompiledRule) -> Iterator[Trial]:
    """The examples of one rule."""
    rule = compiled.rule
    for example in rule.examples:
        start = perf_counter()
        why = "" if rule.prompt else failure(compiled, example)
        verb = "matches" if example.matches else "does not match"
        status: Status = "skipped" if rule.prompt else "failed" if why else "passed"
        yield Trial(
            kind="example", file=rule.source.file, line=example.line, name=f"{rule.id} {verb} {shown(example)}",
            status=status, message="only a judge can say" if rule.prompt else why, rule=rule.id, tags=rule.tags,
            seconds=perf_counter() - start,
        )  # fmt: skip


def _cases(text: RuleText, rule_texts: Sequence[RuleText], packs: Sequence[str]) -> list[Trial]:
    try:
        file = parse_cases(text.text, text.file)
    except PolicyError as error:
        return list(_problems(error))
    try:
        policy = load_texts(rule_texts, packs=[*packs, *file.packs])
    except PolicyError as error:
        why = f"not run, since the rules do not load: {error.problems[0]}"
        return [Trial("file", text.file, 1, text.file, "failed", why)]
    return list(_case_trials(file, policy))


def _case_trials(file: CaseFile, policy: Policy) -> Iterator[Trial]:
    for case in file.cases:
        start = perf_counter()
        why = failure_of(case, policy)
        yield Trial(
            kind="case", file=case.file, line=case.line, name=case.note, status="failed" if why else "passed",
            message=why, rule=case.rule, tags=case.tags, seconds=perf_counter() - start,
        )  # fmt: skip


def _problems(error: PolicyError) -> Iterator[Trial]:
    problems: tuple[PolicyProblem, ...] = error.problems
    for problem in problems:
        yield Trial("file", problem.file, problem.line, problem.rule or problem.file, "failed", problem.message)
