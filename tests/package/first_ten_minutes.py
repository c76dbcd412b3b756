"""The first ten minutes of a stranger: a wheel, the newest Claude Code, two terminals and a phone.

`scripts/first-ten-minutes` starts this. The stranger types what the README and the messages name, and nothing else:
every command that a message names must be one, and every page that it names must be one that the wheel can show. The
model is scripted, the agent, its screen and the browser are real. The exit code is 1 if one step failed.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, sleep

from playwright.sync_api import Error as BrowserError
from playwright.sync_api import Page

from tests.browser.browsing import CHROMIUM, MISSING, PHONE, opened_browser, person
from tests.e2e.agents.behaviours import ALLOWED, DENIED
from tests.e2e.agents.fake_model import FakeModel
from tests.e2e.agents.fetch import name_of
from tests.e2e.agents.known import PROMPT, Around
from tests.e2e.agents.terminal import Terminal as Screen
from tests.e2e.terminals import Terminal, approve_shown
from tests.package.first_hour import (
    AGENT,
    BEGINNINGS,
    FailedError,
    NewUser,
    Steps,
    ended,
    fetch_parts,
    install_wheel,
    remove_wheel,
    run_offline,
    say,
)
from tests.support.timing.patience import PATIENCE

PACKAGE = name_of(AGENT.packages[0])
PROGRAM = "tests.package.first_ten_minutes"
LABELS = ("agent", "file", "events", "changes", "if it fails")
OWN_SCREENS = ((r"Enter to stay in auto mode", "Enter"), (r"❯ (\d\. )?Yes", "Enter"), (r"❯ (\d\. )?No\b", "Down"))
"""What Claude Code itself wants to know before a call that we let through, and the key that agrees. Its classifier,
which would not ask, is on its maker's servers, and a scripted model has none."""
_COMMAND = re.compile(r"`interpose ([a-z][a-z-]*)")
_PAGE = re.compile(r"(?<![\w/.])docs/([\w-]+(?:/[\w-]+)?)")
_ADDRESS = re.compile(r"The page is at\s+(http://127\.0\.0\.1:\d+)/?")
_NEXT = re.compile(r"Next: `(interpose [^`]+)`")
_PROGRAM_GOES = re.compile(r"the program itself:\s+(\S+ -m pip uninstall interpose)")


def asked(word: str) -> str:
    """A command that is asked about, and that leaves a mark when it runs."""
    return f"git push --force origin {word}; touch {word}.marker"


class RecordedTerminal(Terminal):
    """Keeps all that it ever showed."""

    log = ""

    def until(self, wanted: str, seconds: float = PATIENCE) -> str:
        """As before, and what was shown is kept."""
        before = super().until(wanted, seconds)
        self.log += before + wanted
        return before


class Stranger(NewUser):
    """Somebody who uses Claude Code and has never seen Interpose."""

    def begin(self, open_things: ExitStack) -> None:
        """A terminal of one's own, a phone, and a model that wants four things of the agent."""
        self.own = open_things.enter_context(RecordedTerminal(self.environment, self.project))
        self.own.until("$ ")
        browser = open_things.enter_context(opened_browser())
        self.phone: Page = open_things.enter_context(person(browser))
        commands = (ALLOWED, DENIED, asked("terminal"), asked("phone"))
        self.model = open_things.enter_context(FakeModel([AGENT.run(command) for command in commands]))
        self.things = open_things
        self.read = ""
        """What the agent's screen and the page showed."""

    def install(self) -> str:
        """`interpose install` finds the agent, and says in five lines what it does."""
        self.own.type("interpose install\n")
        offered = self.own.until("[none]: ")
        if "Claude Code" not in offered:
            raise FailedError(f"Claude Code was not found: {offered}")
        self.own.type("claude-code\n")
        shown = self.own.until("[y/N] ")
        labels = [line[:11].strip() for line in shown.splitlines() if line[:1].strip()]
        if [label for label in labels if label in LABELS] != list(LABELS) or "+++" in shown:
            raise FailedError(f"it does not say in five lines what it does: {shown}")
        self.own.type("y\n")
        after = self.own.until("Next: ") + "Next: " + self.own.until("$ ")
        named = _NEXT.search(" ".join(after.split()))
        if named is None:
            raise FailedError(f"it does not end with a command: {after}")
        self.next_command = named[1]
        return f"five lines, then: {self.next_command}"

    def follow(self) -> str:
        """The command that `install` names: everything holds."""
        code, shown = self.own.run(*shlex.split(self.next_command))
        self.own.log += shown
        if code:
            raise FailedError(f"{self.next_command} ended with {code}: {shown}")
        return f"{self.next_command}: {len(re.findall(r'^  ok ', shown, re.MULTILINE))} lines are ok, none is open"

    def open_page(self) -> str:
        """The page on a phone, let in by its code."""
        self.own.type("interpose open --no-browser\n")
        found = _ADDRESS.search(self.own.until("Code that your browser shows: "))
        if found is None:
            raise FailedError(f"it does not say where the page is: {self.own.log[-500:]}")
        self.address = found[1]
        self.phone.goto(self.address)
        self.own.type(f"{self.phone.locator('#code').inner_text()}\n")
        self.own.until("The browser is signed in as")
        self.phone.get_by_role("navigation", name="Screens").wait_for()
        return f"signed in, {self._fits()}"

    def start_agent(self) -> str:
        """Claude Code as a person starts it; what is denied is said on its screen."""
        started = AGENT.start(self.parts, Around(self.model.url, ("true",), str(self.project)))
        self.welcome(started)
        variables = {name: text for name, text in started.environment.items() if name != "IS_SANDBOX"}
        command = ("claude", PROMPT)
        self.screen = self.things.enter_context(Screen(command, self.project, {**self.environment, **variables}))
        shown = self._screen_until("Interpose refused this")
        if (self.project / "denied.marker").exists() or not (self.project / "allowed.marker").exists():
            raise FailedError(f"what is allowed did not run, or what is denied did: {shown}")
        reason = shown[shown.index("Interpose refused this") :]
        return " ".join(reason.split())[:90]

    def answer_in_terminal(self) -> str:
        """The agent's screen names the command that answers."""
        shown = self._screen_until("interpose approvals watch")
        if "git-push-force" not in shown:
            raise FailedError(f"the screen does not say what is asked: {shown}")
        self.own.type("interpose approvals watch\n")
        question = self.own.until("[q] quit ")
        if asked("terminal").partition(";")[0] not in question:
            raise FailedError(f"another question is shown: {question}")
        approve_shown(self.own)
        self.own.until("approved")
        self.own.type("q")
        self.own.until("$ ")
        self._ran("terminal")
        return "the screen named the command; approved with a key and four characters; the call ran"

    def answer_on_phone(self) -> str:
        """The same for the page."""
        link = self.phone.locator('a[href*="/inbox/"]:visible').first
        until = monotonic() + PATIENCE
        self.phone.goto(f"{self.address}/inbox")
        while not link.count():
            if monotonic() > until:
                raise FailedError(f"the inbox shows no question: {self.phone.locator('body').inner_text()}")
            sleep(0.5)
            self.phone.reload()
        self.read += self.phone.locator("body").inner_text()
        fits = self._fits()
        link.click()
        self.phone.get_by_role("button", name="Approve", exact=True).wait_for()
        shown = self.phone.locator("body").inner_text()
        if asked("phone").partition(";")[0] not in " ".join(shown.split()):
            raise FailedError(f"the page does not show the call: {shown}")
        fits = f"{fits}, the question too: {self._fits()}"
        self.phone.get_by_role("button", name="Approve", exact=True).click()
        self._ran("phone")
        self.phone.wait_for_load_state()
        self.read += self.phone.locator("body").inner_text()
        return f"the inbox {fits}; the call ran"

    def look_back(self) -> str:
        """What was decided can be read, and no message led nowhere."""
        code, shown = self.own.run("interpose", "audit", "search")
        if code or "remote-code" not in shown or shown.count("git-push-force") < 2:
            raise FailedError(f"the record does not have it: {shown}")
        dead = dead_ends(self.own.log + self.read + self.screen.text(), self._exit_code)
        if dead:
            raise FailedError(f"messages lead nowhere: {', '.join(dead)}")
        return "three decisions are recorded; every command and page that a message named is there"

    def leave(self) -> str:
        """The agent is ended, then everything goes out, as a person types it."""
        until = monotonic() + PATIENCE
        while self.screen.alive() and monotonic() < until:
            self.screen.press("C-c")
            sleep(0.5)
        self.own.type("interpose uninstall --all --purge\n")
        self.own.until("Remove all of this?")
        self.own.type("y\n")
        self.own.until("the program itself:")
        named = _PROGRAM_GOES.search(f"the program itself:{self.own.until('$ ')}")
        if named is None:
            raise FailedError(f"it does not say how the program goes: {self.own.log[-800:]}")
        return named[1]

    def clean(self) -> str:
        """Once the terminals and the browser are closed, nothing of ours is left."""
        self.things.close()
        return super().clean()

    def _screen_until(self, wanted: str) -> str:
        """What the agent's screen shows, as soon as it shows this."""
        until = monotonic() + PATIENCE
        while wanted not in (shown := self.screen.text()):
            if monotonic() > until or not self.screen.alive():
                raise FailedError(f"the agent's screen never showed {wanted!r}:\n{shown.strip()}")
            sleep(0.2)
        self.read += shown
        return shown

    def _ran(self, word: str) -> None:
        until = monotonic() + PATIENCE
        while not (self.project / f"{word}.marker").exists():
            shown = self.screen.text()
            if monotonic() > until:
                raise FailedError(f"the call did not run:\n{shown.strip()}\n{self.model.results}")
            key = next((key for text, key in OWN_SCREENS if re.search(text, shown)), "")
            if key:
                self.screen.press(key)
                self._screen_changes(shown)  # or the next key would answer another question
            sleep(0.2)

    def _screen_changes(self, shown: str) -> None:
        until = monotonic() + 10.0  # a key that is pressed while a screen is being drawn may be lost
        while self.screen.text() == shown and monotonic() < until:
            sleep(0.1)

    def _fits(self) -> str:
        """INVARIANT: nothing has to be moved sideways on a phone."""
        wide = int(self.phone.evaluate("document.documentElement.scrollWidth"))
        if wide > PHONE["width"]:
            raise FailedError(f"{self.phone.url} is {wide} px wide on a screen of {PHONE['width']}")
        return f"{PHONE['width']} px wide"

    def _exit_code(self, *words: str) -> int:
        return subprocess.run(
            ["interpose", *words], check=False, cwd=self.project, env=self.environment, capture_output=True,
            timeout=PATIENCE, stdin=subprocess.DEVNULL, executable=self.programs / "interpose",
        ).returncode  # fmt: skip


def dead_ends(shown: str, exit_code: Callable[..., int]) -> list[str]:
    """What messages name and the installed program does not have: verbs, and pages."""
    text = " ".join(shown.split())
    verbs = [verb for verb in dict.fromkeys(_COMMAND.findall(text)) if exit_code(verb, "--help")]
    pages = dict.fromkeys(page.removesuffix(".md") for page in _PAGE.findall(text))
    gone = [page for page in pages if exit_code("help", page.rpartition("/")[2])]
    return [*(f"interpose {verb}" for verb in verbs), *(f"docs/{page}" for page in gone)]


def newest() -> str:
    """The version that npm would install today. Raises FailedError."""
    npm = shutil.which("npm")
    if npm is None:
        raise FailedError("there is no npm here: name a version that is kept with --agent")
    done = subprocess.run(
        [npm, "view", PACKAGE, "version", "--silent"], check=False, capture_output=True, text=True, timeout=PATIENCE
    )
    version = (done.stdout.split() or [""])[-1]
    if done.returncode or not version:
        raise FailedError(f"npm does not say which version is the newest: {done.stderr.strip()[-300:]}")
    return version


def main(argv: Sequence[str] | None = None) -> int:
    """Install with a network, then go on without one."""
    parser = argparse.ArgumentParser(prog="scripts/first-ten-minutes", description=__doc__)
    parser.add_argument("--wheel", type=Path, metavar="FILE", help="this wheel (default: one that is built here)")
    parser.add_argument("--agent", default="", metavar="VERSION", help="this Claude Code (default: npm's newest)")
    parser.add_argument("--keep", action="store_true", help="leave the home, for a look at what happened")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.inside:
        return _without_a_network(args.inside, args.agent)
    if not CHROMIUM:
        say(MISSING)
        return 1
    place = Path(tempfile.mkdtemp(prefix="first-ten-minutes-"))
    steps, begun = Steps(), monotonic()
    version = [args.agent]

    def fetch() -> str:
        version[0] = version[0] or newest()
        fetch_parts([f"{PACKAGE}@{version[0]}"])
        return f"{PACKAGE} {version[0]}"

    try:
        if install_wheel(steps, place, args.wheel) and steps.take("the newest agent, from npm", fetch):
            steps.failed = bool(run_offline(PROGRAM, place, "--agent", version[0])) or steps.failed
    finally:
        if args.keep:
            say(f"everything is left in {place}")
        else:
            shutil.rmtree(place, ignore_errors=True)
    say(f"{'FAILED' if steps.failed else 'All of it holds'}, in {monotonic() - begun:.0f} s of ten minutes")
    return int(steps.failed)


def _without_a_network(place: Path, version: str) -> int:
    steps = Steps()
    user = Stranger(place / "user", place / "env" / "bin", fetch_parts([f"{PACKAGE}@{version}"]), BEGINNINGS[0])
    with ended(user.home), ExitStack() as things:
        user.begin(things)
        acts: tuple[tuple[str, Callable[[], str]], ...] = (
            ("interpose install, as it offers", user.install),
            ("the command that it names", user.follow),
            ("interpose open, a phone", user.open_page),
            ("a denial", user.start_agent),
            ("a question in the terminal", user.answer_in_terminal),
            ("a question on the phone", user.answer_on_phone),
            ("looking back", user.look_back),
            ("interpose uninstall --all --purge", user.leave),
            ("nothing is left", user.clean),
        )
        _ = all(steps.take(name, _explained(act)) for name, act in acts)
    steps.take("pip uninstall", lambda: remove_wheel(place / "env"))
    return int(steps.failed)


def _explained(act: Callable[[], str]) -> Callable[[], str]:
    """The browser's own errors are failures of a step, too."""

    def run() -> str:
        try:
            return act()
        except BrowserError as error:
            raise FailedError(str(error)) from error

    return run


if __name__ == "__main__":
    sys.exit(main())
