"""Where rules come from, for `add_policy`. See `interpose help policy`."""

from interpose.rules.policy.load import RulePlace
from interpose.rules.policy.rules import Level

__all__ = ["Level", "RulePlace"]
