"""Which paths are secret, lasting, or the settings of a guard."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interpose.effects.paths import UNKNOWN, Mark, persistence_of, resolve, secret_of, tamper_of
from tests.support.timing.growth import grows_linearly

CWD, HOME = "/workspace/project", "/home/dev"

KEYS = """
~/.ssh ~/.ssh/id_rsa ~/.ssh/config ~/.ssh/work_deploy_key ~/.ssh/id_* ~/.s*/id_rsa /home/*/.ssh/id_rsa id_rsa
id_rsa.bak id_rsa_old id_ed25519.backup src/secrets/id_rsa ~/.aws ~/.aws/credentials ~/.aws/credential?
/var/lib/x/.aws/credentials ~/.AWS/CREDENTIALS ~/.config/gcloud/credentials.db ~/.azure/accessTokens.json
~/.kube/config kubeconfig ~/.boto ~/.docker/config.json ~/.npmrc ~/.pypirc ~/.git-credentials
~/.config/gh/hosts.yml ~/.cargo/credentials.toml ~/.netrc ~/.gnupg/private-keys-v1.d/x.key
~/.password-store/mail.gpg ~/.vault-token .htpasswd ~/Library/Keychains/login.keychain-db
~/.mozilla/firefox/x/logins.json ~/.claude/.credentials.json ~/.codex/auth.json
~/.openclaw/credentials/oauth.json ~/.openclaw/agents/a/agent/auth-profiles.json ~/.qwen/oauth_creds.json
~/.gemini/oauth_creds.json ~/.clawdbot/credentials/x .env .env.local .env.production .env.development.local
.env? .env* /app/.env /app/.env.ci node_modules/pkg/.env .env.bak server.pem certs/server.key store.p12
store.pfx release.keystore app.jks vault.kdbx client.ovpn certs/@(server.key) service-account.json
service-account-prod.json /etc/shadow /etc/shado? /etc/s*dow /etc/gshadow /etc/sudoers /etc/sudoers.d/x
/proc/1/environ /proc/self/environ ~/.bashrc ~/.profile ~/.zshrc ~/.config/fish/config.fish /run/secrets/db
C:\\Users\\me\\.npmrc D:/projects/app/.env \\\\server\\share\\.netrc file:///etc/shadow
/tmp/test/../../etc/shadow ~/.ssh/fixtures/key ~/.ssh/tests/id_rsa /home/test/server.pem
"""

SOFT = "config/secrets.yml prod.tfvars terraform.tfstate credentials-old"

PLAIN = """
src/main.py .env.example .env.sample .env.template .env.dist .env.defaults .env_example .environment
environment.ts src/tokens.keys.ts src/app.keyboard.ts app.keymap style.keyframes docs/id_rsa_howto.md id_rsafoo
id_rsa.pub ~/.ssh/id_ed25519.pub ~/.ssh/known_hosts tests/fixtures/id_rsa.pub node_modules/pkg/server.pem
src/__pycache__/server.pem tests/fixtures/.ssh/config tests/certs/server.key src/secrets/index.ts .aws/README.md
server.key.example fullchain.pem package-lock.json /etc/hosts /proc/cpuinfo * ./* *.json *.py src/*.ts
/etc/*release https://example.com/.env process\\.env ~/.ssh/../notes/todo.md README.md Makefile
"""

LASTING = """
.git/hooks/pre-commit .git/config ~/.gitconfig ~/.bashrc ~/.zshenv /root/.profile /etc/profile
/etc/profile.d/x.sh /etc/cron.d/x /var/spool/cron/root /etc/systemd/system/x.service
~/.config/systemd/user/x.service ~/Library/LaunchAgents/x.plist ~/.config/autostart/x.desktop
~/.ssh/authorized_keys ~/.ssh/config /etc/ld.so.preload /etc/pam.d/sshd /etc/sudoers.d/x
venv/lib/site-packages/sitecustomize.py venv/lib/site-packages/x.pth ~/.local/bin/ls
~/.config/fish/conf.d/x.fish /etc/passwd
"""

LASTING_SOFT = (
    ".github/workflows/ci.yml .gitlab-ci.yml .vscode/tasks.json .envrc .npmrc dotfiles/.bashrc .husky/pre-commit"
)

NOT_LASTING = """
package.json Makefile src/main.py .git/index.lock .gitignore .github/CODEOWNERS .git/hooks/pre-commit.sample
README.md ~/.config/fish/completions/x.fish
"""

TAMPER = """
.claude/settings.json .claude/settings.local.json ~/.claude/settings.json ~/.claude.json .codex/config.toml
~/.codex/hooks.json .gemini/settings.json .cursor/mcp.json .cursor/hooks.json .mcp.json opencode.json
~/.config/interpose/config.yaml .interpose/policy.yaml /etc/interpose/x ~/.local/state/interpose/ledger.db
~/.claude/setting?.json
"""

NO_TAMPER = (
    "AGENTS.md CLAUDE.md .claude/commands/x.md .claude.json settings.json src/interpose/testing.py .cursor/rules/a.mdc"
)


def _paths(text: str) -> list[str]:
    return text.split()


@pytest.mark.parametrize("text", _paths(KEYS))
def test_secrets(text: str) -> None:
    mark = secret_of(resolve(text, CWD, HOME), HOME)
    assert mark is not None
    assert mark.strength == "key"
    assert mark.reason


@pytest.mark.parametrize("text", _paths(SOFT))
def test_what_may_hold_secrets(text: str) -> None:
    mark = secret_of(resolve(text, CWD, HOME), HOME)
    assert mark is not None
    assert mark.strength == "soft"


@pytest.mark.parametrize("text", _paths(PLAIN))
def test_no_secrets(text: str) -> None:
    assert secret_of(resolve(text, CWD, HOME), HOME) is None


@pytest.mark.parametrize("text", _paths(LASTING))
def test_lasting(text: str) -> None:
    mark = persistence_of(resolve(text, CWD, HOME), HOME)
    assert mark is not None
    assert mark.strength == "key"


@pytest.mark.parametrize("text", _paths(LASTING_SOFT))
def test_lasting_but_honest_work_too(text: str) -> None:
    mark = persistence_of(resolve(text, CWD, HOME), HOME)
    assert mark is not None
    assert mark.strength == "soft"


@pytest.mark.parametrize("text", _paths(NOT_LASTING))
def test_not_lasting(text: str) -> None:
    assert persistence_of(resolve(text, CWD, HOME), HOME) is None


@pytest.mark.parametrize("text", _paths(TAMPER))
def test_settings_of_a_guard(text: str) -> None:
    assert tamper_of(resolve(text, CWD, HOME), HOME) is not None


@pytest.mark.parametrize("text", _paths(NO_TAMPER))
def test_no_settings_of_a_guard(text: str) -> None:
    assert tamper_of(resolve(text, CWD, HOME), HOME) is None


def test_an_unknown_part_in_a_secret_place_is_still_secret() -> None:
    assert secret_of(f"/home/dev/.ssh/{UNKNOWN}", HOME)
    assert secret_of(f"{UNKNOWN}/.ssh/id_rsa", HOME)
    assert secret_of(f"/workspace/project/id_{UNKNOWN}", HOME)
    assert secret_of(UNKNOWN, HOME) is None
    assert secret_of(f"{UNKNOWN}/config", HOME) is None


@pytest.mark.parametrize("piece", ["*", "[", "?a", "a*", "[a]", "/", ".a/", "(", "a|", UNKNOWN, ".env", "id_rsa.bak"])
@pytest.mark.parametrize("mark_of", [secret_of, persistence_of, tamper_of])
def test_time_grows_with_the_text_only(piece: str, mark_of: Callable[[str, str], Mark | None]) -> None:
    assert grows_linearly(lambda size: mark_of("/" + piece * (size // len(piece)), HOME), 20_000)
