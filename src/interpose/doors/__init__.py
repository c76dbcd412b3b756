"""How events arrive: each surface translates its wire to calls and verdicts back to its wire, and decides nothing."""
