"""`interpose config`: what is set and where, read for mistakes, described to editors, and a file to begin with."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from interpose.core.config.load import Loaded, load
from interpose.core.config.places import places_of
from interpose.core.config.problems import Problem, unknown
from interpose.core.config.render import all_values, json_schema, nested, template
from interpose.core.config.settings import BUILTIN_INTERCEPTORS
from interpose.core.errors import ConfigError, PluginError, text_of
from interpose.core.formats.counted import plural
from interpose.doors.cli import EXIT_CONFIG, EXIT_INTERNAL
from interpose.doors.cli.explaining.verdict_text import Ink, visible
from interpose.doors.cli.shared.json_output import print_json
from interpose.doors.cli.shared.terminal import colours_wanted

EXIT_THERE = 1

_EPILOG = """The file is interpose.yaml in $INTERPOSE_CONFIG_DIR, $XDG_CONFIG_HOME/interpose or ~/.config/interpose
(macOS: ~/Library/Preferences/interpose).
Above it stands the environment (INTERPOSE_SERVER_PORT sets server.port), and above that the command line; below it
/etc/interpose/interpose.yaml, whose `lock` names keys that nobody else can change.

exit codes: 0 done or clean, 1 there is a file already (init), 64 wrong usage, 70 internal error, 78 a configuration
that can't be loaded"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `config` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    acts = parser.add_subparsers(dest="act", metavar="act", required=True)
    show = acts.add_parser("show", help="every value as it holds here; secrets are hidden")
    show.add_argument("--config", metavar="FILE", help="read this file instead of the user's")
    show.add_argument("--origin", action="store_true", help="say where each value was set")
    check = acts.add_parser("check", help="read a file, or all that holds here, for mistakes")
    check.add_argument("config", nargs="?", metavar="FILE", help="(default: the user's)")
    for act in (show, check):
        act.add_argument("--json", action="store_true", help="print the answer as JSON")
    acts.add_parser("schema", help="the JSON Schema of interpose.yaml")
    init = acts.add_parser("init", help="write an interpose.yaml that has every key with its default, commented out")
    init.add_argument("--force", action="store_true", help="replace the file that is there")


def run(args: argparse.Namespace) -> int:
    """Run `interpose config`."""
    try:
        return _ACTS[args.act](args)
    except ConfigError as error:
        if getattr(args, "json", False) and args.act == "check":
            print_json({"ok": False, "problems": error.problems})
        else:
            print(f"interpose config {args.act}: a configuration that can't be loaded", file=sys.stderr)
            print("\n".join(visible(str(problem)) for problem in error.problems), file=sys.stderr)
        return EXIT_CONFIG
    except BrokenPipeError:
        raise  # not an error of ours: see cli/__init__.py
    except OSError as error:
        print(f"interpose config {args.act}: {error}", file=sys.stderr)
        return EXIT_INTERNAL


def _show(args: argparse.Namespace) -> int:
    loaded = load(args.config)
    values = list(all_values(loaded.config))
    if args.json and args.origin:
        print_json({
            key.name: {"value": value, "origin": loaded.origins.get(key.name, "default")} for key, value in values
        })  # fmt: skip
    elif args.json:
        print_json(nested(loaded.config))
    else:
        ink = Ink(colours_wanted())
        for key, value in values:
            line = f"{key.name}: {visible(msgspec.json.encode(value).decode())}"
            origin = visible(loaded.origins.get(key.name, "default"))
            print(f"{line}  {ink(f'({origin})', '2')}" if args.origin else line)
    return 0


def _check(args: argparse.Namespace) -> int:
    loaded = load(args.config)
    if problems := tuple(_of_plugins(loaded)):
        raise ConfigError(problems)
    if args.json:
        print_json({"ok": True, "problems": [], "file": str(loaded.file), "set": len(loaded.origins)})
    else:
        file = visible(str(loaded.file)) if loaded.file.exists() else "no file"
        print(f"{file}: nothing wrong, {plural(len(loaded.origins), 'value is', 'values are')} set")
    return 0


def _of_plugins(loaded: Loaded) -> Iterator[Problem]:
    """Plugins that can't be loaded with their settings, and settings of interceptors that no plugin has."""
    config = loaded.config
    if not config.plugins:
        return
    from interpose.composition.plugins import load_plugins
    from interpose.core.registry import InterceptorRegistry

    registry, failed = InterceptorRegistry(), False
    for name in config.plugins:
        try:
            load_plugins(registry, [name], config.plugin_settings)
        except PluginError as error:
            failed = True
            yield Problem(loaded.origins.get(error.key, ""), error.key, text_of(error).removeprefix(f"{error.key}: "))
    known = {*BUILTIN_INTERCEPTORS, *config.plugins, *(entry.id for entry in registry.list())}
    for id in () if failed else sorted(set(config.interceptors) - known):
        key = f"interceptors.{id}"
        where = next((where for name, where in loaded.origins.items() if name.startswith(f"{key}.")), "")
        yield Problem(where, key, unknown("interceptor", id, sorted(known)))


def _schema(_args: argparse.Namespace) -> int:
    print_json(json_schema())
    return 0


def _init(args: argparse.Namespace) -> int:
    file = places_of().file
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if args.force:
        file.unlink(missing_ok=True)
    try:
        _create(file, template())
    except FileExistsError:
        print(f"interpose config init: {visible(str(file))} is there already; --force replaces it", file=sys.stderr)
        return EXIT_THERE
    print(f"wrote {visible(str(file))}")
    return 0


def _create(file: Path, text: str) -> None:
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(text)


_ACTS = {"show": _show, "check": _check, "schema": _schema, "init": _init}
