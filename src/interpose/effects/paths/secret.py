"""Files that hold secrets: keys, tokens, passwords, and what often holds them."""

from __future__ import annotations

from interpose.effects.agents.known_agents import AGENTS
from interpose.effects.paths.catalogue import Catalogue, Mark, is_wild, stronger
from interpose.effects.paths.resolve import is_home

_SSH = Mark("holds SSH keys and who may use them")
_CLOUD = Mark("holds cloud credentials")
_REGISTRY = Mark("holds the token of a package registry or code host")
_LOGIN = Mark("holds passwords or login tokens")
_AGENT = Mark("holds the login of an AI agent")
_KEYRING = Mark("holds a keyring or password store")
_BROWSER = Mark("holds a browser's passwords or cookies")
_KEY_FILE = Mark("is a private key or certificate store")
_SYSTEM_AUTH = Mark("holds the system's password hashes or rights")
_ENVIRONMENT = Mark("is an environment file, where applications keep their secrets")
_PROCESS = Mark("shows the environment of a process, secrets included")
_PROFILE = Mark("is a shell profile, which often exports keys")
_HISTORY = Mark("is a history of commands, which often holds passwords", "soft")
_NAMED = Mark("is named like a file of secrets", "soft")
_STATE = Mark("often holds secrets in clear text", "soft")
_GENERIC = Mark("is named like a file of credentials", "faint")
_DEPLOYMENT = Mark("is how a project reaches its cluster or registry", "faint")
_ACCOUNTS = Mark("lists the accounts of the system", "faint")

_SECRETS = Catalogue(
    {
        _SSH: """
            .ssh/ id_rsa id_dsa id_ecdsa id_ed25519 id_ed25519_sk id_ecdsa_sk id_xmss ssh_host_rsa_key
            ssh_host_ed25519_key ssh_host_ecdsa_key ssh_host_dsa_key identity.pem
        """,
        _CLOUD: """
            .aws/ .azure/ .config/gcloud/ .boto .s3cfg .passwd-s3fs .kube/ kubeconfig .oci/ .config/doctl/ .doctl/
            .bluemix/ .aliyun/ .config/hcloud/ .linode-cli .fly/config.yml .terraform.d/credentials.tfrc.json
            .terraformrc application_default_credentials.json service-account.json service_account.json
            serviceaccount.json service-account-key.json gcp-key.json .config/rclone/rclone.conf .rclone.conf
            rclone.conf .snowsql/config .databrickscfg .vercel/auth.json .netlify/config.json
            .config/configstore/firebase-tools.json gogcli/credentials.json .gsutil/ .gcp/ .config/scw/config.yaml
            .pulumi/credentials.json .supabase/access-token .railway/config.json .config/turso/settings.json .modal.toml
            .config/neonctl/credentials.json .config/netlify/config.json .wrangler/config/default.toml .ngc/config
            .snowflake/connections.toml .config/snowflake/connections.toml com.vercel.cli/auth.json .expo/state.json
            /etc/rancher/rke2/rke2.yaml .planetscale/access-token .config/planetscale/access-token
            .mc/config.json .config/stripe/config.toml .config/heroku/ .ibmcloud/
        """,
        _REGISTRY: """
            .npmrc .yarnrc.yml .pypirc .git-credentials .config/git/credentials .config/gh/hosts.yml
            .config/glab-cli/config.yml .config/hub .docker/config.json .dockercfg .dockerconfigjson
            .cargo/credentials .cargo/credentials.toml .gem/credentials .m2/settings.xml .m2/settings-security.xml
            .gradle/gradle.properties .composer/auth.json .config/composer/auth.json .config/pypoetry/auth.toml
            .nuget/nuget.config .bundle/config .config/containers/auth.json containers/auth.json .hex/hex.config
            .huggingface/token .cache/huggingface/token .kaggle/kaggle.json .cpanm/credentials .condarc .netlify/
            .circleci/cli.yml gitlab-runner/config.toml .gitlab-runner/config.toml .sentryclirc .config/tea/config.yml
            .jfrog/ .config/jgit/config .pip/pip.conf
        """,
        _LOGIN: """
            .netrc _netrc .authinfo .authinfo.gpg .pgpass pgpass.conf .my.cnf .mylogin.cnf .mongorc.js .dbshell
            .htpasswd .vault-token .vault_pass .vault-pass .vault_password .smbcredentials .fetchmailrc .msmtprc
            .mutt/passwords .config/op/ .config/1password/ .1password/ .config/bitwarden/ .lastpass/
            .config/sops/age/keys.txt whatsapp/default/creds.json .subversion/auth/
            .config/filezilla/sitemanager.xml filezilla.xml .ngrok2/ngrok.yml .config/ngrok/ngrok.yml .cloudflared/
            .config/wireguard/ .openvpn/ .rdesktop/ .remmina/ .config/evolution/ .wgetrc .curlrc .irssi/config
            .config/hexchat/ .electrum/ .bitcoin/wallet.dat wallet.dat .ethereum/keystore/ .config/solana/
            .config/slack/ /etc/openvpn/ /etc/wireguard/ /etc/letsencrypt/archive/ /etc/letsencrypt/live/
            /etc/ssl/private/ /etc/pki/tls/private/ /etc/kubernetes/admin.conf /etc/kubernetes/pki/
            /etc/networkmanager/system-connections/ /etc/wpa_supplicant/wpa_supplicant.conf /var/lib/kubelet/pki/
            globalstorage/state.vscdb /etc/rancher/k3s/k3s.yaml /run/secrets/ /var/run/secrets/ /etc/krb5.keytab
            krb5.keytab /var/lib/jenkins/credentials.xml /var/lib/jenkins/secrets/ jenkins_home/secrets/
            /etc/ppp/chap-secrets /etc/ppp/pap-secrets /etc/ipsec.secrets /etc/mysql/debian.cnf /etc/postfix/sasl_passwd
            /etc/exim4/passwd.client /etc/samba/smbpasswd /var/lib/samba/private/ .local/share/atuin/key
            .config/msmtp/config bitwarden%20cli/data.json dbeaverdata/ .config/rbw/ /etc/docker/key.json
        """,
        _AGENT: " ".join(pattern for agent in AGENTS for pattern in agent.credentials)
        + """
            .minimax/oauth_creds.json .openai/ .anthropic/ .config/openai/ .config/anthropic/ .config/llm/keys.json
        """,
        _KEYRING: """
            .gnupg/ .password-store/ .local/share/keyrings/ .gnome2/keyrings/ .kde/share/apps/kwallet/
            .local/share/kwalletd/ library/keychains/ .local/share/gopass/ .config/gopass/ secring.gpg
            appdata/roaming/microsoft/credentials/ appdata/local/microsoft/credentials/
            appdata/roaming/microsoft/protect/ windows/system32/config/sam windows/system32/config/security
        """,
        _BROWSER: """
            .mozilla/firefox/ .config/google-chrome/ .config/chromium/ .config/brave-browser/ .config/bravesoftware/
            .config/microsoft-edge/ library/cookies/ logins.json key4.db key3.db cookies.sqlite signons.sqlite
            google/chrome/default/ login%20data google/chrome/user%20data/ application%20support/google/chrome/
            application%20support/firefox/
        """,
        _KEY_FILE: """
            *.pem *.key *.p12 *.pfx *.p8 *.pkcs12 *.keystore *.jks *.kdbx *.kdb *.ovpn *.keypair *.ppk *.asc.key
            *.agekey *.keytab *.bks *.mobileprovision *.age-key *.psafe3 *.gpgkey *.privkey *.keychain *.keychain-db
            *.keyring
        """,
        _SYSTEM_AUTH: """
            /etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d/ /etc/master.passwd
            /etc/security/opasswd /var/db/shadow/ /var/db/dslocal/ /etc/security/passwd /etc/spwd.db
        """,
        _ENVIRONMENT: """
            .env .envrc .flaskenv prod.env production.env secrets.env secret.env local.env .dev.vars
        """,
        _PROCESS: """
            /proc/*/environ /proc/*/mem /proc/*/task/*/environ
        """,
        _PROFILE: """
            .profile .bashrc .bash_profile .bash_login .zshrc .zprofile .zshenv .zlogin .kshrc .cshrc .tcshrc
            .config/fish/config.fish .bash_aliases .xprofile .pam_environment
        """,
        _HISTORY: """
            .bash_history .zsh_history .sh_history .history .zhistory .python_history .mysql_history .psql_history
            .sqlite_history .node_repl_history .rediscli_history .irb_history .lesshst fish/fish_history
            .local/share/fish/fish_history consolehost_history.txt .mongo_history .ipython/
        """,
        _NAMED: """
            credentials credentials.yml credentials.yaml credentials.toml credentials.ini
            credentials.xml credentials.txt client_secret.json client_secrets.json secrets.json secrets.yml
            secrets.yaml secrets.toml secrets.ini secrets.txt secret.json secret.yaml secret.yml secret.txt
            passwords.txt password.txt passwd.txt master.key vault.yml vault.yaml oauth_creds.json tokens.json
            token.json .token .secret .secrets .credentials dev.env staging.env test.env .secrets.toml .secrets.yaml
            .streamlit/secrets.toml cookies.txt api_key.txt apikey.txt api_keys.txt firebase-adminsdk.json
        """,
        _STATE: """
            *.tfvars *.tfstate terraform.tfstate.backup wp-config.php .config/pip/pip.conf /etc/environment
        """,
        _GENERIC: """
            credentials.json
        """,
        _ACCOUNTS: """
            /etc/passwd /etc/passwd- /etc/group
        """,
    }
)

_BACKUPS = (
    ".bak", ".backup", ".old", ".orig", ".save", ".tmp", ".copy", ".swp", ".1", "~", "_old", "-old", "_backup",
    "-backup", "_bak", "-bak", ".gz", ".bz2", ".xz", ".zst",
)  # fmt: skip
_SAMPLES = frozenset(
    {
        "example",
        "sample",
        "template",
        "dist",
        "default",
        "defaults",
        "schema",
        "tpl",
        "tmpl",
        "md",
        "vault",
        "enc",
        "txt",
    }
)
_KEY_ENDS = ("_rsa", "_dsa", "_ecdsa", "_ed25519")
_VENDORED = frozenset({"node_modules", "__pycache__", "site-packages", "vendor", "third_party"})
_TRIALS = frozenset(
    {
        "test",
        "tests",
        "fixtures",
        "testdata",
        "__tests__",
        "__fixtures__",
        "spec",
        "examples",
        "example",
        "samples",
        "mocks",
    }
)
_PUBLIC_ENDS = (
    ".pub",
    "cert.pem",
    "chain.pem",
    "ca.pem",
    "ca-bundle.pem",
    "public.pem",
    "public.key",
    "pub.pem",
    "pubkey.pem",
)
_PUBLIC_SSH = frozenset({"known_hosts", "known_hosts.old"})
_SHIPPED = frozenset({_KEY_FILE, _NAMED, _STATE, _SSH, _CLOUD, _LOGIN, _REGISTRY, _PROFILE})
_PRIVATE_TREES = tuple(
    [tree] for tree in ("home", "users", "root", "etc", "var", "usr", "opt", "run", "proc", "library")
)
_PROSE = frozenset({"readme.md", "readme", "readme.txt", "readme.rst"})


def secret_of(path: str, home: str, inside: bool | None = None) -> Mark | None:
    """Why a resolved path (perhaps with wildcards) is secret, or None.

    `inside` tells whether it leads into the workspace, if that is known. There, what tests and packages ship is
    excused, and what a project keeps for deployment is no login of the user; in homes and system directories elsewhere
    nothing is.
    """
    if not path or (path[0] != "/" and "://" in path):
        return None
    parts = path.lower().split("/")
    name = parts[-1]
    if not name and len(parts) > 1:
        parts.pop()
        name = parts[-1]
    mark = _SECRETS.find_wild(parts) if is_wild(path) else _SECRETS.find(parts)
    if mark is None or mark.strength != "key":
        mark = stronger(mark, _by_shape(name, parts))
    if mark is None or _is_public(name, mark):
        return None
    if _is_trial(mark, parts, home) and (inside is not False or not _is_private(parts, home)):
        return None
    return _DEPLOYMENT if inside and _is_deployment(parts, home) else mark


def is_guarded(mark: Mark | None, *, inside: bool, reading: bool) -> bool:
    """Whether touching a file of that sort is worth a question: one answer for file tools and for commands.

    `inside` is the workspace. There, what is only often secret may be written, and what says little may be read, too.
    """
    if mark is None:
        return False
    match mark.strength:
        case "key":
            return True
        case "soft":
            return reading or not inside
        case "faint":
            return not inside


_CREDENTIALS = frozenset({_SSH, _CLOUD, _REGISTRY, _LOGIN, _AGENT, _KEYRING, _BROWSER, _KEY_FILE, _SYSTEM_AUTH})


def is_credential(path: str, home: str, workspace: str) -> bool:
    """Whether a path is a credential at rest: a key, a password or a token of a person, of the system or of an agent.

    What a project keeps for itself is not: its tests and its deployment need it.
    """
    if workspace and (path == workspace or path.startswith(f"{workspace}/")):
        return False
    mark = secret_of(path, home)
    if mark is _KEY_FILE:
        # `../shop/certs/*.pem` is another project's; a dot directory and the system are nobody's project.
        return "/." in path or path.startswith(("/*", "/etc/", "/root/", "/usr/", "/var/"))
    return mark in _CREDENTIALS


def _by_shape(name: str, parts: list[str]) -> Mark | None:
    """What no list can hold: families of names, and backups of secret files."""
    if name[-1:] in ("#", "~") or name[:2] in (".#", "..", "#."):
        # What editors leave beside a file: `.env~`, `#.env#`, `.#.env`, `..env.swp`.
        plain = name.strip("#~").removeprefix(".#").removesuffix(".un").removesuffix(".swp")
        plain = plain[1:] if plain.startswith("..") else plain
        if plain and plain != name:
            found = _SECRETS.find([*parts[:-1], plain])
            return found or (_environment_file(plain) if plain.startswith(".env") else None)
    if name.startswith(".env"):
        return _environment_file(name)
    if name.endswith(".json") and name.startswith(
        ("service-account", "service_account", "serviceaccount", "client_secret")
    ):
        return _CLOUD
    if " " in name or "\\" in name:
        return None
    if name.endswith(_KEY_ENDS) or (name.startswith("ssh_host_") and name.endswith("_key")):
        return _SSH
    if not name.endswith(_BACKUPS):
        return None
    for end in _BACKUPS:
        if name.endswith(end):
            stem = name[: -len(end)]
            return _SECRETS.find([*parts[:-1], stem]) or (_environment_file(stem) if stem.startswith(".env") else None)
    return None


def _environment_file(name: str) -> Mark | None:
    rest = name[4:]
    if not rest:
        return _ENVIRONMENT
    if rest[0] not in ".-_~*?[\ufffc" or " " in rest:
        return None
    last = rest.replace("-", ".").replace("_", ".").rpartition(".")[2]
    return None if last in _SAMPLES else _ENVIRONMENT


def _is_public(name: str, mark: Mark) -> bool:
    if mark is _KEY_FILE or mark is _SSH:
        return name.endswith(_PUBLIC_ENDS) or name in _PUBLIC_SSH
    return (mark is _CLOUD or mark is _LOGIN) and name in _PROSE


def _is_deployment(parts: list[str], home: str) -> bool:
    known = parts[-2:-1] == [".kube"] or (parts[-2:-1] == [".docker"] and parts[-1].startswith("config.json"))
    return known and not is_home("/".join(parts[:-2]), home.lower())


def _is_private(parts: list[str], home: str) -> bool:
    """Whether a path lies in somebody's home or in the system, where no test suite excuses a key."""
    return parts[1:2] in _PRIVATE_TREES or "/".join(parts).startswith(f"{home.lower()}/")


def _is_trial(mark: Mark, parts: list[str], home: str) -> bool:
    """Keys that come with a package or a test suite.

    Names above a home do not count (a user may be called `test`), nor what lies inside a dot directory.
    """
    if mark not in _SHIPPED or (_VENDORED.isdisjoint(parts) and _TRIALS.isdisjoint(parts)):
        return False
    if mark.strength == "key" and mark is not _KEY_FILE and "fixtures" not in parts:
        return False
    below = parts[home.count("/") + 1 :] if parts[1:2] == home.lower().split("/")[1:2] else parts[2:]
    for part in below:
        if part in _VENDORED or part in _TRIALS:
            return True
        if part[:1] == ".":
            return False
    return False
