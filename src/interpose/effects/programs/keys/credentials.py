"""Programs that keep secrets: showing one, exporting all, deleting them."""

from __future__ import annotations

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Stream
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.streams import inputs
from interpose.effects.programs.shared.tool_acts import Act

_SHOW = Act("secret.read", "secret-tool", "Prints a password or key that is kept under lock.")
_EXPORT = Act("secret.read", "secret-export", "Writes out private keys or a whole store of secrets.")
_DELETE = Act("data.destroy", "secret-delete", "Deletes a secret; what it protects may be lost with it.")
_SECRET = frozenset({"secret"})


_GPG_VALUES = words(
    """
    -o --output -r --recipient -u --local-user --homedir --keyserver --passphrase --passphrase-file --batch-file
    --default-key --status-fd --logger-fd --keyring --trust-model --compress-algo --cipher-algo --digest-algo
    --command-fd --pinentry-mode --passphrase-fd
    """
)
_GPG_DELETES = ("--delete-secret-keys", "--delete-secret-key", "--delete-secret-and-public-keys",
                "--delete-secret-and-public-key", "--delete-keys", "--delete-key")  # fmt: skip
_GPG_EXPORTS = ("--export-secret-keys", "--export-secret-key", "--export-secret-subkeys", "--export-secret-ssh-key")
_GPG_FILES = ("-d", "--decrypt", "-c", "--symmetric", "-e", "--encrypt", "-s", "--sign", "--clearsign", "--clear-sign",
              "-b", "--detach-sign", "--store")  # fmt: skip


@command("gpg", "gpg2", "gpg1")
def gpg(inv: Invocation, low: Lowering) -> None:
    """Signing and checking are ordinary; secret keys that leave or go are not."""
    opts = parse(inv.args, values=_GPG_VALUES, long=(*_GPG_DELETES, *_GPG_EXPORTS, *_GPG_FILES))
    target = opts.value("-o", "--output")
    content: Stream | None = None
    if opts.has(*_GPG_EXPORTS):
        low.emit("secret.read", opts.word(0), rule=_EXPORT.rule, reason="Writes out private keys.")
        content = Stream(None, _SECRET)
    elif opts.has(*_GPG_DELETES):
        secret = opts.has(*_GPG_DELETES[:4])
        low.emit("data.destroy", opts.word(0), rule=_DELETE.rule, recoverable=not secret,
                 reason="Deletes a private key: what was encrypted to it can never be read again.")  # fmt: skip
    elif opts.has(*_GPG_FILES) or opts.operands:
        decrypts = opts.has("-d", "--decrypt") or not opts.has(*_GPG_FILES)
        source = inputs(inv, opts.operands, low) if opts.has(*_GPG_FILES) else Stream()
        # What is encrypted may go anywhere: that is what encrypting is for.
        content = Stream(None, source.taints | {"decoded"}) if decrypts else Stream("")
    if target is not None and target.text != "-":
        low.write(target, content)
    if content is not None:
        low.output(content)


@command("pass", "gopass")
def password_store(inv: Invocation, low: Lowering) -> None:
    """`pass name` shows a password; what goes to the clipboard is for the person."""
    opts = parse(inv.args, values=("-l", "-p"), long=("--clip",))
    verb = opts.word(0)
    if (
        opts.has("--help", "--version")
        or not verb
        or verb in ("ls", "list", "find", "search", "help", "version", "init")
    ):
        return
    if verb == "git":
        low.run(inv.args, via=inv.name)
    elif verb in ("rm", "remove", "delete"):
        low.emit("data.destroy", opts.word(1), rule=_DELETE.rule, reason=_DELETE.reason)
    elif verb in ("insert", "add", "generate", "edit", "mv", "cp", "rename", "copy", "otp", "sync"):
        return
    elif not opts.has("-c", "--clip"):
        low.emit("secret.read", opts.word(1) or verb, rule=_SHOW.rule, reason=_SHOW.reason)
        low.output(Stream(None, _SECRET))


_CRYPT_VALUES = words(
    """
    -i --identity -r --recipient -R --recipients-file -o --output --input-type --output-type --extract --age --pgp --kms
    """
)


@command("sops", "age", "rage")
def file_crypt(inv: Invocation, low: Lowering) -> None:
    """Encrypts and decrypts files; what was decrypted is secret from then on."""
    opts = parse(inv.args, values=_CRYPT_VALUES)
    if opts.has("--help", "--version"):
        return
    decrypts = opts.has("-d", "--decrypt") or opts.word(0) == "decrypt"
    content = Stream(None, _SECRET) if decrypts else Stream("")
    if opts.word(0) in ("exec-env", "exec-file") and len(opts.operands) > 2:
        low.shell(opts.operands[2], via=inv.name)
    for target in opts.values("-o", "--output"):
        low.write(target, content)
    low.output(content)
