"""Where a terminal came from: what an agent may have left behind proves nothing, however it calls itself."""

from __future__ import annotations

import os
import pwd
from typing import Any

import pytest

from interpose.core.errors import NotProvenError
from interpose.core.platforms.processes import ticks_now
from interpose.people.presence.agents import SeenAgent, SeenAgents
from interpose.people.presence.terminal import prove_terminal
from tests.unit.people.presence.machines import TTY, USER, Machine

SHELL, AGENT, WORKS, LATER = "/usr/bin/bash", 200, 2000, 3000
OTHER = TTY + 1


def agents(*, gone: bool = False) -> SeenAgents:
    """One agent, process 200, which has worked since 2000 and lives, or has only just ended."""
    found = SeenAgents()
    found._remember(SeenAgent(AGENT, WORKS, ticks_now(), "agent", gone))
    return found


ME = pwd.getpwuid(os.getuid())
HOME = {"HOME": ME.pw_dir}


@pytest.fixture(autouse=True)
def one_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pwd.getpwuid", lambda _uid: ME)


def said(machine: Machine, parent: int, seen: SeenAgents, environment: dict[str, str] | None = None) -> str:
    """What is said to an answer from a bare shell with a terminal of its own, below some process."""
    machine.add(900, parent, SHELL, start=LATER + 5, terminal=OTHER, foreground=901, environment=HOME)
    machine.add(901, 900, "/usr/bin/interpose", start=LATER + 6, terminal=OTHER, session=900, environment=environment)
    try:
        prove_terminal(901, LATER + 6, seen)
    except NotProvenError as error:
        return str(error)
    return ""


@pytest.fixture
def desktop(machine: Machine) -> Machine:
    """A user's services, a desktop, a window with a shell, and an agent in it."""
    machine.add(10, 1, "/usr/lib/systemd/systemd", start=10)
    machine.add(20, 10, "/usr/bin/gnome-shell", start=20)
    machine.add(30, 20, "/usr/bin/kitty", start=30, session=20)
    machine.add(100, 30, SHELL, start=100, terminal=TTY)
    machine.add(AGENT, 100, "/opt/agent", start=WORKS, terminal=TTY, session=100)
    return machine


def test_a_second_shell_of_an_older_window(desktop: Machine) -> None:
    assert said(desktop, 30, agents()) == ""


def test_a_window_that_the_desktop_starts_while_an_agent_works(desktop: Machine) -> None:
    desktop.add(500, 20, "/usr/bin/kitty", start=LATER, session=20, environment=HOME)
    assert said(desktop, 500, agents()) == ""


def test_a_program_that_the_desktop_starts_while_an_agent_works(desktop: Machine) -> None:
    """`swaymsg exec`, `i3-msg exec`: a desktop starts what every program of its user names."""
    desktop.add(500, 20, "/home/ann/kitty/bin/kitty", start=LATER, session=20)
    assert "kitty (process 500) was started by gnome-shell (process 20), and not by keys" in said(
        desktop, 500, agents()
    )


@pytest.mark.parametrize("name", ["systemd", "init", "sshd", "login", "kitty", "bash"])
@pytest.mark.parametrize("parent", [1, 10], ids=["adopted by the first process", "adopted by the service manager"])
def test_an_orphan_is_nothing_by_its_name(desktop: Machine, name: str, parent: int) -> None:
    desktop.add(500, parent, "/tmp/evil", start=LATER, name=name)
    assert "may be the agent's" in said(desktop, 500, agents())


@pytest.mark.parametrize("program", ["/usr/lib/systemd/systemd", "/usr/bin/tmux", "/usr/sbin/sshd", "/tmp/systemd"])
def test_an_orphan_is_nothing_by_its_program(desktop: Machine, program: str) -> None:
    desktop.add(500, 1, program, start=LATER, name="systemd")
    assert said(desktop, 500, agents()) != ""


@pytest.mark.parametrize("gone", [False, True], ids=["the agent lives", "the agent has ended"])
@pytest.mark.parametrize("session", [40, 500], ids=["in the session of the subreaper", "in a session of its own"])
def test_an_orphan_that_a_subreaper_adopted(machine: Machine, session: int, gone: bool) -> None:
    machine.add(40, 1, "/usr/bin/supervisor", start=40)
    machine.add(100, 40, SHELL, start=100, terminal=TTY)
    machine.add(AGENT, 100, "/opt/agent", start=WORKS, terminal=TTY, session=100)
    machine.add(500, 40, "/usr/bin/script", start=LATER, session=session)
    assert "may be the agent's" in said(machine, 500, agents(gone=gone))


def test_an_orphan_in_a_container_that_was_entered_from_outside(machine: Machine) -> None:
    """The entered shell is a person's. What a subreaper below it adopted need not be."""
    machine.add(40, 0, SHELL, start=40, terminal=TTY)
    machine.add(50, 40, "/usr/bin/supervisor", start=50, terminal=TTY, session=40)
    machine.add(100, 50, SHELL, start=100, terminal=TTY + 2)
    machine.add(AGENT, 100, "/opt/agent", start=WORKS, terminal=TTY + 2, session=100)
    machine.add(500, 50, "/usr/bin/script", start=LATER)
    assert "may be the agent's" in said(machine, 500, agents())


def test_a_shell_that_enters_a_container_is_a_persons(machine: Machine) -> None:
    machine.add(AGENT, 1, "/opt/agent", start=WORKS)
    machine.add(500, 0, SHELL, start=LATER, terminal=TTY + 2)
    assert said(machine, 500, agents()) == ""


def test_a_login_from_elsewhere(desktop: Machine) -> None:
    desktop.add(60, 1, "sshd", start=60, uid=0)
    desktop.add(500, 60, "sshd", start=LATER, uid=0)
    assert said(desktop, 500, agents()) == ""


@pytest.mark.parametrize(
    ("address", "counts"), [("127.0.0.1", False), ("::1", False), ("127.8.9.10", False), ("203.0.113.9", True)]
)
def test_a_login_over_ssh_from_this_machine_itself(desktop: Machine, address: str, counts: bool) -> None:
    """Every program of the user can start one, and its terminal is new."""
    desktop.add(60, 1, "sshd", start=60, uid=0)
    desktop.add(500, 60, SHELL, start=LATER, terminal=OTHER, environment=HOME | {"SSH_CONNECTION": f"{address} 1 h 22"})
    assert ("over ssh from this machine itself" in said(desktop, 500, agents())) != counts


@pytest.mark.parametrize("login", ["sshd", "login"])
def test_an_orphan_below_a_persons_login_that_calls_itself_one(machine: Machine, login: str) -> None:
    """A supervisor in a person's ssh session adopts what the agent leaves behind."""
    machine.add(60, 1, "sshd", start=60, uid=0)
    machine.add(70, 60, SHELL, start=70, terminal=TTY)
    machine.add(80, 70, "/usr/bin/supervisor", start=80, terminal=TTY, session=70)
    machine.add(100, 80, SHELL, start=100, terminal=TTY + 2)
    machine.add(AGENT, 100, "/opt/agent", start=WORKS, terminal=TTY + 2, session=100)
    machine.add(500, 80, "/tmp/evil", start=LATER, name=login)
    assert "may be the agent's" in said(machine, 500, agents())


def test_a_program_of_root_that_asks_a_program_of_ours_is_no_login(desktop: Machine) -> None:
    """`sudo -A` by a link that is called sshd runs the helper that its user names."""
    desktop.add(500, 1, "sshd", start=LATER, uid=0)
    assert "may be the agent's" in said(desktop, 500, agents())


SHARED = [
    ("tmux", "/usr/bin/tmux", "tmux: server"),
    ("screen", "/usr/bin/screen", "SCREEN"),
    ("screen", "/usr/bin/screen-4.9.1", ""),
    ("zellij", "/home/ann/.cargo/bin/zellij", ""),
    ("nvim", "/usr/bin/nvim", ""),
    ("emacs", "/usr/bin/emacs-gtk", ""),
    ("wezterm-gui", "/usr/bin/wezterm-gui", ""),
    ("konsole", "/usr/bin/konsole", ""),
]


@pytest.mark.parametrize(("name", "program", "shown"), SHARED, ids=[f"{case[0]} {case[1]}" for case in SHARED])
def test_a_terminal_that_others_can_type_into_proves_nothing(
    machine: Machine, name: str, program: str, shown: str
) -> None:
    """Also if no agent was ever there: an older tmux server opens windows for everybody."""
    machine.add(500, 1, program, start=50, name=shown)
    answer = said(machine, 500, SeenAgents())
    assert f"in {name} (process 500) every program of yours can read the screen and type" in answer
    for way in ("a terminal window of your own", "interpose open", "interpose approvals operator init --passphrase"):
        assert way in answer


def test_a_kitty_with_remote_control_proves_nothing(machine: Machine) -> None:
    machine.add(500, 1, "/usr/bin/kitty", start=50)
    answer = said(machine, 500, SeenAgents(), environment={"KITTY_LISTEN_ON": "unix:/tmp/kitty"})
    assert "in a kitty with remote control" in answer


@pytest.mark.parametrize(
    ("program", "uid", "counts"), [("ydotoold", USER, False), ("ydotoold", 0, False), ("ls", USER, True)]
)
def test_a_desktop_whose_keys_a_program_presses_proves_nothing(
    machine: Machine, program: str, uid: int, counts: bool
) -> None:
    machine.add(400, 1, f"/usr/bin/{program}", uid=uid)
    machine.add(500, 1, "/usr/bin/kitty", start=50)
    assert (said(machine, 500, SeenAgents()) == "") == counts


WINDOWS = [
    ("it waits for keys", {}, {}, True),
    ("a loader's variable", {"environment": HOME | {"LD_PRELOAD": "/tmp/evil.so"}}, {}, False),
    ("code of another's", {"libraries": ("/usr/lib/libc.so.6", "/tmp/evil.so")}, {}, False),
    ("code without a file", {"libraries": ("",)}, {}, False),
    ("a window of another's", {"program": "/tmp/xterm"}, {}, False),
    ("another home", {}, {"environment": {"HOME": "/tmp/evil"}}, False),
    ("a command", {}, {"command": ("-c", "interpose approvals approve x; true")}, False),
    ("a start file", {}, {"command": ("--rcfile", "/tmp/evil")}, False),
    ("a shell of another's", {}, {"program": "/tmp/bash"}, False),
]


@pytest.mark.parametrize(("note", "window", "shell", "counts"), WINDOWS, ids=[case[0] for case in WINDOWS])
def test_a_window_that_was_opened_while_an_agent_worked(
    desktop: Machine,
    note: str,
    window: dict[str, Any],
    shell: dict[str, Any],
    counts: bool,
) -> None:
    facts = {"program": "/usr/bin/xterm", "environment": HOME} | window
    desktop.add(500, 10, facts.pop("program"), start=LATER, **facts)
    facts = {"program": SHELL, "environment": HOME} | shell
    desktop.add(900, 500, facts.pop("program"), start=LATER + 1, terminal=OTHER, foreground=901, **facts)
    desktop.add(901, 900, "/usr/bin/interpose", start=LATER + 2, terminal=OTHER, session=900)
    seen = agents()
    if counts:
        prove_terminal(901, LATER + 2, seen)
    else:
        with pytest.raises(NotProvenError, match=r"which was started while|not by keys"):
            prove_terminal(901, LATER + 2, seen)


Facts = dict[str, Any]
BARE: Facts = {"program": SHELL, "terminal": OTHER, "environment": HOME}
PERSON: Facts = {"program": SHELL, "terminal": TTY + 5, "start": 50}
"""A shell that leads a terminal since before any agent."""
IN_OTHER: Facts = {"terminal": TTY + 5, "session": 50}
FOREIGN = HOME | {"PATH": "/tmp/evil"}
SOURCED = HOME | {"ENV": "/tmp/evil.bash"}
ANSWERS: Facts = {"program": "/usr/bin/interpose"}


def script(**more: Any) -> Facts:
    return {"program": "/usr/bin/script"} | IN_OTHER | more


CHAINS: list[tuple[str, list[tuple[int, int, Facts]], bool]] = [
    # Terminal programs that run what they are told.
    ("gnome-terminal -- interpose", [(901, 30, ANSWERS | {"terminal": OTHER})], False),
    ("gnome-terminal -- sh -c", [(600, 30, BARE | {"command": ("-c", "x")}), (901, 600, ANSWERS)], False),
    ("gnome-terminal -- /tmp/bash", [(600, 30, BARE | {"program": "/tmp/bash"}), (901, 600, ANSWERS)], False),
    ("PATH of another's", [(600, 30, BARE | {"environment": FOREIGN}), (901, 600, ANSWERS)], False),
    ("HOME of another's", [(600, 30, BARE | {"environment": {"HOME": "/tmp/evil"}}), (901, 600, ANSWERS)], False),
    ("a start file of the terminal's", [
        (600, 30, BARE | {"command": ("--posix",), "environment": HOME | {"ENV": "/usr/lib/kitty/kitty.bash"}}),
        (901, 600, ANSWERS),
    ], True),
    ("a start file of another's", [
        (600, 30, BARE | {"command": ("--posix",), "environment": SOURCED}), (901, 600, ANSWERS),
    ], False),
    # Services that run what they are told, and above which no agent is.
    ("systemd-run --user --pty", [(901, 70, ANSWERS | {"terminal": OTHER, "opened": False})], False),
    ("systemd-run --user script", [
        (600, 70, {"program": "/usr/bin/script"}), (700, 600, BARE), (901, 700, ANSWERS),
    ], False),
    ("systemd-run --user --pty bash", [(600, 70, BARE | {"opened": False}), (901, 600, ANSWERS)], False),
    ("cron", [
        (600, 80, {"program": "/usr/sbin/cron", "uid": 0}), (700, 600, {"program": SHELL, "command": ("-c", "x")}),
        (800, 700, {"program": "/usr/bin/script", "session": 700}), (850, 800, BARE), (901, 850, ANSWERS),
    ], False),
    # A watcher in a terminal of the person's that runs what an agent edits.
    ("a watcher runs a script", [
        (50, 20, PERSON), (60, 50, {"program": "/usr/bin/node", "start": 60} | IN_OTHER),
        (600, 60, {"program": "/tmp/evil"} | IN_OTHER), (901, 600, ANSWERS | IN_OTHER),
    ], False),
    ("a watcher runs us", [
        (50, 20, PERSON), (60, 50, {"program": "/usr/bin/node", "start": 60} | IN_OTHER), (901, 60, ANSWERS | IN_OTHER),
    ], False),
    ("a script of the person's runs us", [
        (50, 20, PERSON), (60, 50, {"program": SHELL, "start": 60, "command": ("watch.sh",)} | IN_OTHER),
        (901, 60, ANSWERS | IN_OTHER),
    ], False),
    ("a shell that reads a pipe", [
        (50, 20, PERSON), (600, 50, {"program": SHELL, "reads": "pipe:[7]"} | IN_OTHER), (901, 600, ANSWERS | IN_OTHER),
    ], False),
    ("a watcher opens a terminal", [
        (50, 20, PERSON), (60, 50, {"program": "/usr/bin/node", "start": 60} | IN_OTHER), (600, 60, script()),
        (700, 600, BARE), (901, 700, ANSWERS),
    ], False),
    # What people type.
    ("at the prompt", [(50, 20, PERSON), (901, 50, ANSWERS | IN_OTHER)], True),
    ("a shell in a shell", [
        (50, 20, PERSON), (600, 50, {"program": SHELL} | IN_OTHER), (901, 600, ANSWERS | IN_OTHER),
    ], True),
    ("uv run interpose", [
        (50, 20, PERSON), (600, 50, {"program": "/home/ann/.local/bin/uv"} | IN_OTHER), (901, 600, ANSWERS | IN_OTHER),
    ], True),
    ("script, typed", [(50, 20, PERSON), (600, 50, script()), (700, 600, BARE), (901, 700, ANSWERS)], True),
    ("sudo -iu ann, with a terminal of its own", [
        (50, 20, PERSON), (600, 50, {"program": "sudo", "uid": 0} | IN_OTHER),
        (700, 600, {"program": "sudo", "uid": 0, "terminal": OTHER}), (800, 700, BARE | {"session": 700}),
        (901, 800, ANSWERS | {"session": 700}),
    ], True),
    ("an editor's terminal", [
        (65, 20, {"program": "/usr/share/code/code", "start": 65}),
        (600, 65, BARE | {"command": ("--init-file", "/usr/share/code/bash.sh")}), (901, 600, ANSWERS),
    ], True),
    ("an editor's task", [
        (65, 20, {"program": "/usr/share/code/code", "start": 65}), (600, 65, BARE | {"command": ("-c", "x")}),
        (901, 600, ANSWERS),
    ], False),
    ("ssh host 'interpose; true'", [
        (66, 1, {"program": "sshd", "uid": 0, "start": 66}), (67, 66, {"program": "sshd", "uid": 0}),
        (600, 67, BARE | {"command": ("-c", "x")}), (901, 600, ANSWERS),
    ], True),
]  # fmt: skip


@pytest.mark.parametrize(("note", "below", "counts"), CHAINS, ids=[case[0] for case in CHAINS])
def test_who_started_what_answers(
    desktop: Machine, note: str, below: list[tuple[int, int, Facts]], counts: bool
) -> None:
    """All of these are below programs that are older than the agent, and of which none is above it."""
    desktop.add(70, 1, "/usr/lib/systemd/systemd", start=70)
    desktop.add(80, 1, "cron", start=80, uid=0)
    terminals: dict[int, int] = {}
    for pid, parent, facts in below:
        more: Facts = {"terminal": terminals.get(parent, 0), "start": LATER + pid, "foreground": pid} | facts
        terminals[pid] = more["terminal"]
        if more["terminal"] and more["terminal"] == terminals.get(parent):
            more.setdefault("session", parent)
        desktop.add(pid, parent, **more)
    if counts:
        prove_terminal(901, LATER + 901, agents())
    else:
        with pytest.raises(NotProvenError, match=r"which was started while|not by keys"):
            prove_terminal(901, LATER + 901, agents())
