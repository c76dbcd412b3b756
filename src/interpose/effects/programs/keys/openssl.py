"""openssl: certificates are public, keys are not, and `enc -d` makes text out of what nobody can read."""

from __future__ import annotations

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Stream
from interpose.effects.programs.shared import text_filters as filters
from interpose.effects.programs.shared.disk_space import ENDLESS, is_huge
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.streams import inputs, mapped, standard_input
from interpose.effects.programs.shared.transfer import REMOTE, send

_VALUES = words(
    """
    -in -out -inkey -key -CA -CAkey -CAfile -CApath -cert -passin -passout -pass -k -K -iv -S -md -days -subj -config
    -extfile -extensions -connect -servername -starttls -name -certfile -keyout -newkey -sign -verify -signature -sigopt
    -pkeyopt -inform -outform -engine -provider -provider-path -accept -port -proxy -cipher -rand -writerand -nameopt
    -checkhost -host -keyform -pubin_key -iter -bufsize -kfile -showcerts_file
    """
)
_SHOWS_KEYS = words("rsa pkey ec dsa pkcs8 pkcs12 rsautl pkeyutl genpkey gendsa")
_CIPHERS = ("aes", "des", "camellia", "chacha", "bf", "rc4", "sm4", "aria", "seed")


@command("openssl", "libressl")
def openssl(inv: Invocation, low: Lowering) -> None:
    """Only subcommands that show key material or pass data through state what they read."""
    if not inv.args:
        return
    name, rest = inv.args[0].text.lstrip("-"), inv.args[1:]
    opts = parse(rest, values=_VALUES, bundle=False)
    if opts.has("-help"):
        return
    target = opts.value("-out", "-keyout")
    content: Stream | None = None
    if name in ("enc", "base64") or name.startswith(_CIPHERS):
        content = _enciphered(inv, name, low)
    elif name in _SHOWS_KEYS and not opts.has("-pubin", "-nokeys", "-pubout", "-noout", "-check", "-verify", "-sign"):
        content = inputs(inv, opts.values("-in"), low)
    elif name == "s_client":
        _connect(inv, low, opts.value("-connect"))
        return
    elif name == "rand" and any(is_huge(word.text) for word in opts.operands):
        content = Stream(taints=frozenset({ENDLESS}))
    elif name == "s_server":
        low.emit("net.listen", "openssl")
    if target is not None:
        low.write(target, content)
    elif content is not None:
        low.output(content)


def _enciphered(inv: Invocation, name: str, low: Lowering) -> Stream:
    opts = parse(inv.args[1:], values=_VALUES, bundle=False)
    source = inputs(inv, opts.values("-in"), low)
    if not opts.has("-d"):
        return Stream(None, source.taints)
    plain = name == "base64" or (opts.has("-base64", "-a") and len([n for n, _ in opts.given]) <= 4)
    if plain:
        return mapped(source, lambda text: filters.from_base(text, 64), "decoded")
    return Stream(None, source.taints | {"decoded"})


def _connect(inv: Invocation, low: Lowering, peer: object) -> None:
    host = getattr(peer, "text", "")
    # A handshake needs no input: people close it with `< /dev/null`.
    if inv.stdin is not None and (inv.stdin.taints or inv.stdin.text):
        send(low, host, standard_input(inv))
    low.output(REMOTE)
