"""Words in names that tell a secret, as patterns to find names with and as endings to judge them by."""

from __future__ import annotations

from functools import lru_cache

from interpose.reading.secrets.kinds import NAMED, Named
from interpose.reading.secrets.patterns import pattern

_KEYS = (
    "api", "access", "auth", "private", "secret", "encryption", "signing", "master", "license", "account", "shared",
    "storage", "service", "session", "app", "deploy",
)  # fmt: skip
_TELLING = (
    "pass(?:word|wd|phrase|code)?", "pwd", "passwort", "secret", "token", "credentials?", "authorization", "bearer",
    "jwt",
    rf"(?:{'|'.join(_KEYS)})[_.-]?key",
)  # fmt: skip
_SPELLINGS = {
    "^ibm": "ibm[_.-]?(?:cloud|cos|iam|api|key)",
    "^scw": "scw",
    "^sl": "sl[_-]?(?:api|key|pass)",
    "^slapi": "slapi",
    "adopat": "ado[_.-]?pat",
    "azuredevops": "azure[_.-]?devops",
    "cloudiam": "cloud[_.-]?iam",
    "coapi": "co[_.-]?api",
    "contribsyscom": "contribsys[_.-]*com",
    "coshmac": "cos[_.-]?hmac",
    "cossecret": "cos[_.-]?secret",
    "ddapi": "dd[_.-]?api",
    "ddapp": "dd[_.-]?app",
    "deployerprivate": "deployer[_.-]?private",
    "ethprivate": "eth[_.-]?private",
    "hmacsecret": "hmac[_.-]?secret",
    "iamapi": "iam[_.-]?api",
    "iamkey": "iam[_.-]?key",
    "iampassword": "iam[_.-]?password",
    "launchdarkly": "launch[_.-]?darkly",
    "messagebird": "message[_.-]?bird",
    "newrelic": "new[_.-]?relic",
    "newyorktimes": "new[_.-]?york[_.-]?times",
    "openweather": "open[_.-]?weather",
    "owmapi": "owm[_.-]?api",
    "pdapi": "pd[_.-]?api",
    "privateai": "private[_.-]?ai",
    "secretaccesskey": "secret[_.-]?access[_.-]?key",
    "secretkey": "secret[_.-]?key",
    "virustotal": "virus[_.-]?total",
    "vtapi": "vt[_.-]?api",
    "walletprivate": "wallet[_.-]?private",
}
"""How a vendor's word is written in names, where that is not just the word."""

_VENDORS = sorted({_SPELLINGS.get(word, word) for kind in NAMED for word in kind.words})
WORDS = f"(?:{'|'.join([*_TELLING, *_VENDORS])})"
"""A part of every name that could tell a secret."""
LETTERS_WORDS = r"(?:passw(?:or)?d|passphrase|passwort|pwd|cloudant[\w-]*)"
"""Names whose values need no digit."""

_PASSWORDS = ("password", "passwd", "passphrase", "passwort", "pwd", "dbpass", "userpass", "mysqlpass")
_STRONG = (
    *_PASSWORDS, "passcode", "secret", "token", "credential", "credentials", "authorization", "jwt",
    *(f"{word}key" for word in _KEYS),
)  # fmt: skip
_HARMLESS = (
    "csrftoken", "xsrftoken", "publictoken", "nexttoken", "pagetoken", "continuationtoken", "cancellationtoken",
    "synctoken", "forwardtoken", "backwardtoken", "maxtoken", "eostoken", "bostoken", "padtoken", "publicaccesskey",
    "requesttoken", "clienttoken", "markertoken", "starttoken", "resumetoken",
)  # fmt: skip
_ENDS = ("", "value", "base64", "b64", "str", "string", "plain", "raw", "prod", "dev", "live", "staging", "test", "env")
_BESIDE_VENDOR = ("key", "id", "login", "pw", "pass", "auth", "pat", "code", "api", "license", "webhook")
_DIGITS = "0123456789"
_KEPT = 4096
"""How many names' answers are kept: the names of fields repeat."""


@lru_cache(maxsize=_KEPT)
def could_tell(name: bytes) -> bool:
    """Whether a name has a telling word in it at all."""
    return pattern(f"(?i){WORDS}").occurs(name)


def flat(name: bytes) -> str:
    """A name in lower case, without what separates its words."""
    return "".join(char for char in name.decode("latin-1").lower() if char.isalnum())


@lru_cache(maxsize=_KEPT)
def telling_end(name: str) -> str | None:
    """The telling word that a flat name ends with, so that `token_url` and `secret_name` tell nothing."""
    name = name.rstrip(_DIGITS)
    if name == "pass":
        return "password"
    for end in _ENDS:
        if not name.endswith(end):
            continue
        short = name.removesuffix(end)
        if short.endswith(_HARMLESS):
            return None
        for word in _STRONG:
            if short.endswith(word):
                return word
    return None


def is_password_word(word: str) -> bool:
    """Whether a telling word is one for something that people choose."""
    return word in _PASSWORDS


@lru_cache(maxsize=_KEPT)
def kinds_of_vendor(name: str) -> tuple[Named, ...]:
    """The kinds that a flat name could be for: `snyk` and `snyk_key` tell one, `snyk_report` does not."""
    return tuple(kind for kind in NAMED if any(_names_vendor(name, word) for word in kind.words))


def _names_vendor(name: str, word: str) -> bool:
    bare = word.removeprefix("^")
    at = name.find(bare)
    if at < 0 or (at > 0 and word != bare):
        return False
    rest = name[at + len(bare) :].rstrip(_DIGITS)
    return not rest or rest.endswith(_BESIDE_VENDOR) or telling_end(name) is not None
