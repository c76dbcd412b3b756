"""The ids under which a policy is registered. Light: whoever translates verdicts must not load a policy."""

from __future__ import annotations

POLICY = "policy"
JUDGE = "policy:judge"
