"""What the decisions of the MCP gateway cost in its own process, without links: before and after one small call.

    python -m bench.mcp_gate

All guards are on and the ledger is `written`. The engine alone is the floor, measured in turns with the gate.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter_ns, thread_time_ns

from bench.checks import CheckFailedError, require_equal, require_ledger
from bench.command_line import make_parser, run_main
from interpose.composition.service.service import Service
from interpose.core.driving import drive_in_server
from interpose.core.types import ToolCall, ToolOutcome
from interpose.doors.mcp.gate.contract import Forward
from interpose.doors.mcp.gate.gate import McpGate
from interpose.engine.flow.hosted import Abilities
from tests.support.hosts.gating import call, client
from tests.support.servers.servers import service_in

ROUNDS, CALLS = 25, 100
SMOKE = 2, 5
RESULT = {"content": [{"type": "text", "text": "it is noon in Berlin, and all is well"}], "isError": False}
BY = client()
CAN = Abilities(rewrite=True, rewrite_carried=True)


def main() -> None:
    options = make_parser(__doc__).parse_args()
    rounds, calls = SMOKE if options.smoke else (ROUNDS, CALLS)
    with tempfile.TemporaryDirectory() as place:
        with service_in(Path(place)) as service:
            made = asyncio.run(measure(service, rounds, calls))
        require_ledger(Path(place, "ledger"), {"allow": made})


async def measure(service: Service, rounds: int, calls: int) -> int:
    """Print the table. How many calls were made."""
    gate = McpGate(service)
    ways: dict[str, Callable[[int], Awaitable[None]]] = {
        "engine, another call each time": lambda number: by_engine(service, number),
        "gate, another call each time": lambda number: by_gate(gate, number),
        "gate, the same call": lambda _number: by_gate(gate, 0),
    }
    best = dict.fromkeys(ways, (float("inf"), float("inf")))
    number = 0
    for _ in range(rounds):
        for name, way in ways.items():
            wall, cpu = perf_counter_ns(), thread_time_ns()
            for _ in range(calls):
                number += 1
                await way(number)
            took = (perf_counter_ns() - wall) / calls / 1000, (thread_time_ns() - cpu) / calls / 1000
            best[name] = min(best[name], took)
    print(f"{datetime.now(UTC):%Y-%m-%d}, Python {sys.version.split()[0]}, microseconds for before and after together")
    print(f"{'':32}{'wall':>8}{'CPU of the loop':>18}")
    for name, (wall_us, cpu_us) in best.items():
        print(f"{name:32}{wall_us:8.0f}{cpu_us:18.0f}")
    return number


async def by_gate(gate: McpGate, number: int) -> None:
    asked = call({"zone": f"UTC{number}", "city": "Berlin"}, server="time", name="now", by=BY)
    gated = await gate.before(asked)
    if not isinstance(gated, Forward):
        raise CheckFailedError(f"the gate did not forward a harmless call: {gated}")
    answered = await gate.after(asked, gated.ticket, RESULT)
    require_equal("the result of the gate", answered, RESULT)


async def by_engine(service: Service, number: int) -> None:
    made = ToolCall("mcp__time__now", {"zone": f"UTC{number}", "city": "Berlin"}, context=BY.context)
    await drive_in_server(service.hosted(BY.context, CAN).before(made, key=made.call_id))
    await drive_in_server(service.hosted(BY.context, CAN).after(ToolOutcome(made, RESULT), key=made.call_id))


if __name__ == "__main__":
    run_main(main)
