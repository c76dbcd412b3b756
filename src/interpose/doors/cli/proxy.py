"""`interpose proxy`: a proxy in front of model APIs, for agents that have no hooks."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from interpose.composition.build import hold_server
from interpose.core.errors import ConfigError, LedgerError, PluginError, PolicyError, ServerError, StoreError, text_of
from interpose.core.types import new_id
from interpose.doors.cli import EXIT_CONFIG, EXIT_USAGE, version
from interpose.doors.cli.explaining.verdict_text import Ink, visible
from interpose.doors.cli.gateways.gateway_running import EXIT_UNAVAILABLE, refused
from interpose.doors.cli.gateways.proxy_variables import BYPASSES, addresses_from, environment_for, exports
from interpose.doors.cli.shared.terminal import colours_wanted

if TYPE_CHECKING:
    from interpose.composition.service.service import Service
    from interpose.core.config.settings import Config, LoggingSettings
    from interpose.doors.proxy.upstreams import Upstream

EXIT_NOT_EXECUTABLE = 126
EXIT_NOT_FOUND = 127

_EPILOG = """With a command, the agent is started under the proxy and finds it by itself:

  interpose proxy -- my-agent "tidy up"

Without one, it serves on http://127.0.0.1:8092 until it is stopped, and says what to set (ANTHROPIC_BASE_URL,
OPENAI_BASE_URL, GOOGLE_GEMINI_BASE_URL). Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini are
understood. Calls that are refused become texts, and the agent's own key is used: none is kept here.

exit codes: the command's own; 126 and 127 the command can't be started or found; 64 wrong usage, 69 the port or the
ledger can't be used, 78 a configuration or rules that can't be loaded"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `proxy` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.usage = "interpose proxy [options] [-- COMMAND [ARG ...]]"
    parser.epilog = _EPILOG
    parser.add_argument("--port", type=int, help="loopback port (default: 8092; with a command any free one)")
    parser.add_argument(
        "--upstream", action="append", default=[], metavar="NAME=URL",
        help="where a model is: anthropic=, openai=, gemini= or a name of your own, and what you would put into its "
        "variable; may be given several times",
    )  # fmt: skip
    parser.add_argument(
        "--wait", type=float, metavar="SECONDS", help="how long an answer waits for a person who is asked (default: 30)"
    )
    parser.add_argument("--session", metavar="NAME", help="one session for all calls, for rules and the ledger")
    parser.add_argument("--config", metavar="FILE", help="read this file instead of the user's interpose.yaml")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="the agent")


def run(args: argparse.Namespace) -> int:
    """Run `interpose proxy`."""
    words = args.command[1:]
    if args.command and (args.command[0] != "--" or not words):
        print('interpose proxy: give the agent behind `--`: interpose proxy -- my-agent "task"', file=sys.stderr)
        return EXIT_USAGE
    given: dict[str, str] = {}
    for text in args.upstream:
        name, border, address = text.partition("=")
        if not border:
            print(f"interpose proxy: --upstream needs NAME=URL, not {visible(text[:80])!r}", file=sys.stderr)
            return EXIT_USAGE
        given[name] = address
    try:
        return _run(args, given, words)
    except (ConfigError, PolicyError, PluginError) as error:
        return refused("proxy", error, EXIT_CONFIG)
    except (ServerError, LedgerError, StoreError) as error:
        return refused("proxy", error, EXIT_UNAVAILABLE)


def _run(args: argparse.Namespace, given: Mapping[str, str], words: Sequence[str]) -> int:
    from interpose.composition.build import open_service
    from interpose.composition.observability.program_log import logging_to
    from interpose.core.config.load import load
    from interpose.core.config.places import places_of
    from interpose.core.config.proxy import wrong_upstreams
    from interpose.rules.policy.startup_memory import Memory

    flags = {"proxy.port": args.port, "proxy.wait": args.wait, "proxy.session": args.session}
    config = load(args.config, flags={name: value for name, value in flags.items() if value is not None}).config
    addresses = addresses_from(given, config.proxy.upstreams, os.environ)
    if why := wrong_upstreams(addresses):
        raise ConfigError((f"upstream {why}",))
    past = [name for name in BYPASSES if words and os.environ.get(name)]
    if past:
        raise ConfigError((f"{past[0]} is set: an agent that heeds it goes past the proxy. Start without it",))
    memory = Memory(places_of().state / "cache" / "rules", version=version())
    with logging_to(_logging(config, quiet=bool(words))), open_service(config, memory=memory) as service:
        memory.save()
        gc.collect()
        gc.freeze()  # what is loaded by now stays: looking for garbage in it would make answers wait
        gc.set_threshold(100_000, 50, 100)
        if words:
            return _around(service, addresses, words, args.port or 0)
        return _alone(service, addresses, config.proxy.port)


def _logging(config: Config, *, quiet: bool) -> LoggingSettings:
    """Where our own lines go. An agent has the terminal to itself."""
    from interpose.core.config.places import places_of

    if not quiet or config.logging.path:
        return config.logging
    place = places_of().state / "proxy.log"
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ServerError(f"{place.parent} can't be made: {text_of(error)}") from error
    return replace(config.logging, path=str(place))


def _alone(service: Service, addresses: Mapping[str, str], port: int) -> int:
    from interpose.doors.http_server.listener import run as run_on_loop
    from interpose.doors.proxy.serving import serve_alone

    run_on_loop(serve_alone(service, addresses, _started, port=port))
    return 0


def _around(service: Service, addresses: Mapping[str, str], words: Sequence[str], port: int) -> int:
    from interpose.doors.http_server.listener import run as run_on_loop
    from interpose.doors.proxy.serving import serve_command

    def environment(address: str, upstreams: Mapping[str, Upstream]) -> dict[str, str]:
        hold_server([address])
        return environment_for(os.environ, address, upstreams)

    session = f"proxy:{new_id()[:12]}"
    try:
        return run_on_loop(serve_command(service, addresses, words, environment, port=port, session=session))
    except FileNotFoundError:
        return _failed(f"{words[0]}: not found", EXIT_NOT_FOUND)
    except OSError as error:
        return _failed(f"{words[0]}: {error.strerror}", EXIT_NOT_EXECUTABLE)


def _started(address: str, upstreams: Mapping[str, Upstream]) -> None:
    hold_server([address])
    ink, wide = Ink(colours_wanted()), max(map(len, upstreams))
    print(f"interpose {version()} stands before the models. Ctrl-C stops it.")
    for name, one in upstreams.items():
        print(f"  {ink(f'{name:{wide}}', '2')}  {visible(one.local(address))} for {visible(one.base)}")
    print()
    for variable, value in exports(address, upstreams).items():
        print(f"  export {variable}={visible(value)}")
    sys.stdout.flush()


def _failed(why: str, status: int) -> int:
    print(f"interpose proxy: {visible(why)}", file=sys.stderr)
    return status
