"""Programs that keep files in step with another machine: sftp, ftp, lftp, rclone."""

from __future__ import annotations

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Stream, Word
from interpose.effects.programs.network.ssh import connection_options, copy, remote
from interpose.effects.programs.shared.options import Options, parse
from interpose.effects.programs.shared.streams import informs, standard_input
from interpose.effects.programs.shared.transfer import REMOTE, holds_home, send, send_words

_DELETES = words("rm rmdir mrm delete mdelete del rmd")
_PUTS = words("put mput reput send append mirror-r")


@command("sftp", "ftp", "lftp", "tnftp", "ncftp", "tftp", "smbclient", "psftp")
def ftp(inv: Invocation, low: Lowering) -> None:
    """Orders come from options, a batch file or standard input."""
    values = (
        "-b",
        "-B",
        "-c",
        "-e",
        "-F",
        "-f",
        "-i",
        "-J",
        "-l",
        "-o",
        "-P",
        "-p",
        "-R",
        "-S",
        "-s",
        "-u",
        "-D",
        "-X",
    )
    opts = parse(inv.args, values=values)
    if informs(opts):
        return
    if inv.name == "sftp":
        connection_options(opts, low)
    host = next((word for word in opts.operands), Word(""))
    scripts: list[Stream] = [
        Stream(code.text, code.taints) for code in opts.values("-e", "-c") if inv.name in ("lftp", "smbclient")
    ]
    if inv.name == "tftp" and opts.has("-c"):
        order = inv.args[next(index for index, word in enumerate(inv.args) if word.text == "-c") + 1 :]
        scripts.append(Stream(" ".join(word.text for word in order)))
    scripts += [low.read(path) for path in opts.values("-b", "-f") if path.text != "-"]
    if inv.stdin is not None:
        scripts.append(standard_input(inv))
    for script in scripts:
        if "secret" in script.taints or script.text is None:
            send(low, host.text, script)
        else:
            _orders(inv.name, script.text, host, low)
    for path in opts.values("-o") if inv.name in ("ftp", "tnftp") else ():
        low.write(path, REMOTE)
    if inv.name == "sftp" and len(opts.operands) == 2:
        copy(low, opts.operands[:1], opts.operands[1], recursive=opts.has("-r"))
    low.output(REMOTE)


def _orders(tool: str, script: str, host: Word, low: Lowering) -> None:
    for line in script.replace(";", "\n").splitlines():
        order, _, rest = line.strip().lstrip("-").partition(" ")
        operands = [part for part in rest.split() if not part.startswith("-")]
        if order.startswith("!"):
            low.shell(Word(line.strip()[1:], host.span), via=tool)
        elif order in _PUTS or (order == "mirror" and "-R" in rest.split()):
            content = low.read(Word(operands[0], host.span)) if operands else Stream("")
            low.emit("net.upload", host.text, secret="secret" in content.taints)
        elif order in ("get", "mget", "reget", "pget", "get1") and operands:
            low.write(Word(operands[-1].rpartition("/")[2] if len(operands) == 1 else operands[1], host.span), REMOTE)
        if order in _DELETES or (order == "mirror" and "--delete" in rest.split()):
            low.emit("data.destroy", rest, rule="remote-delete", reason="Deletes files on another machine.")


_RCLONE_DESTROYS = {
    "delete": "Deletes files in the remote.", "deletefile": "Deletes a file in the remote.",
    "purge": "Deletes a directory of the remote with all that is in it.", "rmdir": "Removes a directory of the remote.",
    "rmdirs": "Removes directories of the remote.", "cleanup": "Empties the trash and old versions of the remote.",
    "sync": "Makes the target equal to the source: what only the target has is deleted.",
    "move": "Moves files: they are deleted at the source.", "moveto": "Moves files: they are deleted at the source.",
    "dedupe": "Deletes what it takes for duplicates.",
}  # fmt: skip
_RCLONE_VALUES = words(
    """
    --config --max-age --min-age --include --exclude --filter --filter-from --include-from --exclude-from --files-from
    --transfers --checkers --bwlimit --log-file --log-level --backup-dir --suffix --max-size --min-size --retries
    --max-delete --drive-root-folder-id --user-agent --header --addr --user --pass --vfs-cache-mode --tpslimit
    """
)


@command("rclone")
def rclone(inv: Invocation, low: Lowering) -> None:
    """Copies to and from cloud storage."""
    opts = parse(inv.args, values=_RCLONE_VALUES)
    if informs(opts) or not opts.operands or opts.has("-n", "--dry-run"):
        return
    verb, *rest = opts.operands
    operands = tuple(rest)
    match verb.text:
        case "copy" | "copyto" | "bisync":
            _rclone_copy(opts, operands, low)
        case "sync" | "move" | "moveto":
            _rclone_copy(opts, operands, low)
            _rclone_destroy(verb, operands[-1:] if verb.text == "sync" else operands[:1], low)
        case "config" if operands and operands[0].text in ("show", "dump", "file"):
            if operands[0].text != "file":
                low.emit(
                    "secret.read", "rclone.conf", at=operands[0], reason="Prints the credentials that rclone keeps."
                )
                low.output(Stream(None, frozenset({"secret"})))
        case "rcat":
            send(low, operands[0].text if operands else "", standard_input(inv))
        case "cat":
            low.output(REMOTE)
        case "serve":
            low.emit("net.listen", "rclone")
        case text if text in _RCLONE_DESTROYS:
            _rclone_destroy(verb, operands[:1], low)
        case _:
            pass


def _rclone_copy(opts: Options, operands: tuple[Word, ...], low: Lowering) -> None:
    if len(operands) < 2:
        return
    source, target = operands[0], operands[1]
    if remote(source)[0]:
        low.emit("net.download", source.text, at=source)
        if not remote(target)[0]:
            low.write(target, REMOTE)
    elif remote(target)[0]:
        content = low.read(source, recursive=True)
        low.emit("net.upload", target.text, at=source, secret="secret" in content.taints, file=holds_home(source, low))
    send_words(low, target.text, *opts.operands)


def _rclone_destroy(verb: Word, targets: tuple[Word, ...], low: Lowering) -> None:
    for target in targets:
        if not remote(target)[0] and verb.text != "move":
            low.delete(target, recursive=True)
        else:
            low.emit(
                "data.destroy",
                target.text,
                at=verb,
                rule=f"rclone-{verb.text}",
                reason=_RCLONE_DESTROYS[verb.text],
                instead="",
            )
