"""Reloading under fire: truncated and mutated files, calls from many threads, and never a mix of two policies."""

from __future__ import annotations

import logging
import random
import sys
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from interpose import AutoDeny, Engine, InterceptorRegistry, ToolCall, Verdict, create_interceptor_registry
from interpose.core.errors import PolicyError
from interpose.core.formats.signatures import new_key, sign
from interpose.rules.policy.compiled import Policy
from interpose.rules.policy.interceptor import registrations
from interpose.rules.policy.load import RulePlace
from interpose.rules.policy.reload import LOOK_SECONDS, PolicyReload
from interpose.rules.policy.rule_file_trust import Standing, signed_text
from interpose.rules.policy.rules import Level
from tests.support.timing.patience import PATIENCE

RELOADS = 1000
FILLER = "".join(
    f"  - {{id: filler-{number}, on: {{tools: [other]}}, when: 'args.?n.orValue({number}) == 1', action: deny}}\n"
    for number in range(4)
)


def text_of(generation: int) -> str:
    """Three rules that belong together: each verdict must come from one generation alone."""
    return (
        f"version: 1\nrules:\n"
        f"  - {{id: first-{generation}, when: 'true', action: log, message: g{generation}}}\n{FILLER}"
        f"  - {{id: ask-{generation}, when: 'true', action: ask, message: g{generation}}}\n"
        f"  - {{id: last-{generation}, when: 'true', action: log, message: g{generation}}}\n"
        f"  - {{id: yes-{generation}, when: 'true', action: allow, message: g{generation}, "
        f"answers: {{rules: [ask-{generation}], scope: everywhere}}}}\n...\n"
    )


def broken(text: str, rng: random.Random) -> str:
    """A file as a crash, a full disk or a bad edit leaves it."""
    at = rng.randrange(len(text))
    return rng.choice((
        text[:at],
        text[:at] + rng.choice("\0{[:'&*\t") + text[at + 1 :],
        text[:at] + text[rng.randrange(at, len(text)) :],
        text.replace("action: log", "action: dny", 1),
        text.replace("when: 'true'", "when: 'nope'", 1),
    ))  # fmt: skip


Told = tuple[str, str, tuple[tuple[str, str], ...]]


def told(engine: Engine) -> tuple[str, Told]:
    """The revision, and all that a verdict said: the outcome, who approved, and each finding."""
    verdict: Verdict[Any] = engine.run().run_tool(ToolCall("thing"), lambda args: "ran").verdict
    findings = tuple((finding.said, finding.reason) for finding in verdict.findings)
    return verdict.policy, (verdict.outcome, verdict.approver, findings)


def engine_of(registry: InterceptorRegistry) -> Engine:
    return Engine(registry, confirm=AutoDeny())


def alone(policy: Policy) -> Told:
    """What a policy says when nothing else happens."""
    registry = create_interceptor_registry()
    registry.swap(registrations(policy))
    return told(engine_of(registry))[1]


class Fire:
    """Threads that keep calling, and keep what they were told by each revision."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.seen: set[tuple[str, Told]] = set()
        self.calls = 0
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._shoot) for _ in range(2)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _shoot(self) -> None:
        while not self._stop.is_set():
            heard = told(self.engine)
            with self._lock:
                self.calls += 1
                self.seen.add(heard)


@pytest.fixture
def busy() -> Iterator[None]:
    """Threads take turns often: more interleavings, and less waiting for each other."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(0.0002)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("busy")
def test_a_thousand_reloads_under_fire(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Every verdict is what its revision says when asked alone. What was cut off is never taken."""
    caplog.set_level(logging.CRITICAL, "interpose.policy")
    rng = random.Random(7)
    file = tmp_path / "policy.yaml"
    file.write_text(text_of(0))
    registry = create_interceptor_registry()
    reload = PolicyReload(registry, [RulePlace(str(file))])
    policies = {reload.policy.revision: reload.policy}
    taken = refused = 0
    with Fire(engine_of(registry)) as fire:
        for generation in range(1, RELOADS + 1):
            whole = text_of(generation)
            text = whole if generation % 4 == 0 else broken(whole, rng)
            file.write_text(text)
            before = reload.policy
            status = reload.check()
            assert reload.policy.revision == status.revision
            if status.state == "broken":
                refused += 1
                assert reload.policy is before
                assert status.problems
                assert text != whole
            else:
                taken += 1
                assert text.rstrip().endswith("...")
                policies[status.revision] = reload.policy
    wanted = {revision: alone(policy) for revision, policy in policies.items()}
    assert [heard for heard in fire.seen if wanted[heard[0]] != heard[1]] == []
    assert fire.calls > 100
    assert taken >= RELOADS // 4
    assert refused > RELOADS // 4


@pytest.mark.parametrize("cut", range(1, 11))
def test_the_beginning_of_the_running_file_is_not_taken(cut: int, tmp_path: Path) -> None:
    """Also where it is right YAML: a file that lost its last rules would be a policy with holes."""
    text = text_of(1).removesuffix("...\n")
    file = tmp_path / "policy.yaml"
    file.write_text(text)
    reload = PolicyReload(create_interceptor_registry(), [RulePlace(str(file))])
    lines = text.splitlines(keepends=True)
    short = "".join(lines[: min(cut, len(lines) - 1)])
    file.write_text(short)
    assert reload.check().state == "broken"
    if cut > 2:
        file.write_text(f"{short}...\n")
        assert reload.check().state == "current", "somebody who means it says so"


def test_a_broken_file_says_so_and_the_last_good_set_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(text_of(1))
    registry = create_interceptor_registry()
    reload = PolicyReload(registry, [RulePlace(str(file))])
    revision = reload.status.revision
    file.write_text(text_of(2).replace("action: ask", "action: aks"))
    with caplog.at_level(logging.ERROR, "interpose.policy"):
        status = reload.check()
        assert reload.check() is status
    assert (status.state, status.revision) == ("broken", revision)
    assert "invalid enum value 'aks'" in str(status)
    assert len(caplog.records) == 1, "said once, not at every look"
    assert Engine(registry).decide(ToolCall("thing")).policy == revision
    file.write_text(text_of(2))
    assert reload.check().state == "current"
    assert Engine(registry).decide(ToolCall("thing")).policy == reload.status.revision != revision


def test_a_file_that_is_gone_leaves_the_last_good_set(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(text_of(1))
    reload = PolicyReload(create_interceptor_registry(), [RulePlace(str(file))])
    file.unlink()
    assert reload.check().state == "broken"
    file.write_text(text_of(1))
    assert reload.check().state == "current", "the same text again is the running policy, and no longer broken"


def test_a_broken_project_file_does_not_keep_the_changes_of_others_out(tmp_path: Path) -> None:
    """An agent that breaks the file in its repository must not freeze the policy of its organisation."""
    organisation, project = tmp_path / "organisation.yaml", tmp_path / "project.yaml"
    organisation.write_text(text_of(1))
    project.write_text("version: 1\nrules:\n  - {id: mine, when: 'true', action: log, message: mine}\n")
    registry = create_interceptor_registry()
    places = [RulePlace(str(organisation), Level.ORGANISATION), RulePlace(str(project), Level.PROJECT)]
    reload = PolicyReload(registry, places)
    for broken_text in ("version: 1\nrules: [", None):
        if broken_text is None:
            project.unlink()
        else:
            project.write_text(broken_text)
        organisation.write_text(text_of(2 if broken_text else 3))
        status = reload.check()
        assert (status.state, status.problems[0].file) == ("broken", str(project))
        reasons = {reason for _, reason in told(engine_of(registry))[1][2]}
        assert reasons == {"g2" if broken_text else "g3", "mine"}, (
            "the new word of one, the last good word of the other"
        )


def test_a_start_without_a_policy_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PolicyError):
        PolicyReload(create_interceptor_registry(), [RulePlace(str(tmp_path / "none.yaml"))])


def test_watching_takes_over_a_change(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(text_of(1))
    registry = create_interceptor_registry()
    seen = threading.Event()

    class Telling:
        def swap(self, entries: Any) -> None:
            registry.swap(entries)
            if registry.list() and "g2" in str(entries[0].handler.policy.rules[0].rule.message):
                seen.set()

    reload = PolicyReload(Telling(), [RulePlace(str(file))])
    thread = reload.watch(0.01)
    file.write_text(text_of(2))
    assert seen.wait(PATIENCE)
    reload.stop()
    thread.join(PATIENCE)
    assert not thread.is_alive()


class _Edits:
    """Stands in for the pause between two looks: in each something is written. The last one ends the watch."""

    def __init__(self, *edits: Callable[[], object]) -> None:
        self._edits = list(edits)

    def wait(self, _seconds: float) -> bool:
        if not self._edits:
            return True
        self._edits.pop(0)()
        return False


def test_a_set_of_files_that_is_being_written_is_never_used_half_way(tmp_path: Path) -> None:
    """Two files that belong together are written with looks in between."""
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"

    def write(file: Path, generation: int) -> None:
        file.write_text(f"version: 1\nrules: [{{id: {file.stem}-{generation}, when: 'true', action: log}}]\n...\n")

    write(first, 1)
    write(second, 1)
    registry = create_interceptor_registry()
    seen: list[set[str]] = []

    def register(policy: Policy) -> Any:
        seen.append({each.rule.id for each in policy.rules})
        return registrations(policy)

    reload = PolicyReload(registry, [RulePlace(str(tmp_path))], register=register)
    reload._stopping = _Edits(  # type: ignore[assignment]
        lambda: None,
        lambda: write(first, 2),  # one look finds half of it
        lambda: write(second, 2),
        lambda: None,
        lambda: None,
    )
    reload._watch(0)
    assert seen == [{"a-1", "b-1"}, {"a-2", "b-2"}]


def test_a_change_holds_within_a_second() -> None:
    assert 2 * LOOK_SECONDS < 1


def test_a_file_is_not_used_until_its_signature_is_there_too(tmp_path: Path) -> None:
    private, public = new_key()
    file, beside = tmp_path / "a.yaml", tmp_path / "a.yaml.sig"

    def signed(text: str) -> bytes:
        return b64encode(sign(private, signed_text(text.encode())))

    file.write_text(text_of(1))
    beside.write_bytes(signed(text_of(1)))
    place = RulePlace(str(tmp_path), Level.USER, "", Standing((public,), required=True))
    reload = PolicyReload(create_interceptor_registry(), [place])
    good = reload.status.revision
    file.write_text(text_of(2))
    assert (reload.check().state, reload.check().revision) == ("broken", good)
    beside.write_bytes(signed(text_of(2)))
    assert reload.check().state == "current"
    assert reload.status.revision != good
    file.chmod(0o666)
    good = reload.status.revision
    assert (reload.check().state, reload.check().revision) == ("broken", good)
