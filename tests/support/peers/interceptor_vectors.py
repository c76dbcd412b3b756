"""Vectors of the interceptor protocol: the published ones if they are there, and ours; and what runs their steps."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
PUBLISHED = ROOT.parent / "shared" / "sep2624.tar.gz"
OWN = Path(__file__).parents[2] / "cases" / "interceptors"
VOLATILE = frozenset({"durationMs", "totalDurationMs", "info"})

Ask = Callable[[str, dict[str, Any]], Mapping[str, Any]]
"""One request over the wire: its result, or its error under `error`."""
Vector = dict[str, Any]


def vectors() -> Iterator[Vector]:
    """All there are."""
    for path in sorted(OWN.glob("*.json")):
        yield from json.loads(path.read_text(encoding="utf-8"))
    if PUBLISHED.exists():
        with tarfile.open(PUBLISHED) as archive:
            for member in sorted(archive.getmembers(), key=lambda one: one.name):
                if member.name.endswith(".json") and not member.name.endswith("manifest.json"):
                    file = archive.extractfile(member)
                    assert file is not None
                    yield json.load(file)


def canonical(value: Any) -> str:
    """RFC 8785 for what the vectors hold: texts, integers, objects and lists."""
    return json.dumps(_scrubbed(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _scrubbed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _scrubbed(each) for key, each in value.items() if key not in VOLATILE}
    return [_scrubbed(each) for each in value] if isinstance(value, list) else value


def run_step(ask: Ask, step: Mapping[str, Any]) -> None:
    """Do what a step says, and hold the answer to what it expects."""
    expect = step["expect"]
    match step["op"]:
        case "list":
            filters = {key: step[key] for key in ("event", "phase") if step.get(key) is not None}
            _hold(ask("interceptors/list", filters), expect)
        case "invoke":
            _hold(ask(step.get("method", "interceptor/invoke"), dict(step["params"])), expect)
        case "chain" | "apply":
            _hold_chain(ask, step, expect)
        case other:
            raise AssertionError(f"nobody knows the step {other}")


def _hold(answer: Mapping[str, Any], expect: Mapping[str, Any]) -> None:
    if "errorCode" in expect:
        assert answer.get("error", {}).get("code") == expect["errorCode"], answer
        assert expect.get("errorData", {}).items() <= (answer["error"].get("data") or {}).items(), answer
        return
    assert "error" not in answer, answer
    if "canonical" in expect:
        assert canonical(answer) == expect["canonical"]
    assert canonical(answer) == canonical(expect["result"])


def _hold_chain(ask: Ask, step: Mapping[str, Any], expect: Mapping[str, Any]) -> None:
    params = {key: step[key] for key in ("event", "phase", "payload", "timeoutMs", "config", "interceptor")
              if key in step}  # fmt: skip
    answer = ask("interceptor/executeChain", params | {"context": step.get("context") or {}})
    assert "error" not in answer, answer
    decision = "allow" if answer["status"] == "success" else "deny"
    assert decision == expect["decision"], answer
    if "status" in expect:
        assert answer["status"] == expect["status"], answer
    if "abortedAt" in expect:
        assert expect["abortedAt"].items() <= answer["abortedAt"].items()
    if "summary" in expect:
        assert answer["validationSummary"] == expect["summary"]
    if "finalPayload" in expect:
        assert canonical(answer["finalPayload"]) == canonical(expect["finalPayload"])
    if "finalPayloadCanonical" in expect:
        assert canonical(answer["finalPayload"]) == expect["finalPayloadCanonical"]
    final = canonical(answer.get("finalPayload"))
    assert not [text for text in expect.get("forbids", ()) if text in final]
    assert not [text for text in expect.get("requires", ()) if text not in final]
