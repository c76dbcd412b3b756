"""Volumes, pools, arrays and encrypted disks: subcommands that take them away."""

from __future__ import annotations

from msgspec import Struct

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Word
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.streams import informs
from interpose.effects.programs.system.disk import as_device, overwrite

_LONG = ("--help", "--version")


class Verb(Struct, frozen=True):
    """A subcommand that takes data away."""

    rule: str
    reason: str
    wide: bool = False
    device: bool = False
    """Its operands are devices that are written over."""


_POOL = Verb("pool-destroy", "A whole storage pool is destroyed with all that lies on it", wide=True)
_DATASET = Verb("dataset-destroy", "A file system or snapshot is destroyed with all that lies on it")
_ROLLBACK = Verb("dataset-rollback", "Everything written since the snapshot is lost")
_VOLUME = Verb("volume-remove", "A volume is removed with all that lies on it")
_ARRAY = Verb("raid-change", "A RAID array is stopped, rebuilt or stripped of its metadata")
_MAPPING = Verb("mapping-remove", "A block device in use is taken away")
_ERASE = Verb("disk-erase", "A whole disk or volume is erased", wide=True, device=True)
_KEYS = Verb("key-destroy", "Without its keys an encrypted volume cannot be read any more", wide=True, device=True)
_SUBVOLUME = Verb("subvolume-delete", "A subvolume or snapshot is deleted with all that lies on it")

_SUBCOMMANDS: dict[str, dict[str, Verb]] = {
    "zpool": {"destroy": _POOL, "labelclear": _ERASE, "remove": _VOLUME, "detach": _VOLUME, "create": _ERASE},
    "zfs": {"destroy": _DATASET, "rollback": _ROLLBACK},
    "btrfs": {
        "subvolume delete": _SUBVOLUME,
        "su de": _SUBVOLUME,
        "device remove": _VOLUME,
        "device delete": _VOLUME,
        "rescue zero-log": _MAPPING,
    },
    "cryptsetup": {
        "luksformat": _KEYS,
        "erase": _KEYS,
        "lukserase": _KEYS,
        "lukskillslot": _KEYS,
        "luksremovekey": _KEYS,
        "reencrypt": _KEYS,
        "format": _KEYS,
    },
    "nvme": {
        "format": _ERASE,
        "sanitize": _ERASE,
        "write-zeroes": _ERASE,
        "write": _ERASE,
        "dsm": _ERASE,
        "delete-ns": _ERASE,
        "fw-commit": _MAPPING,
    },
    "dmsetup": {"remove": _MAPPING, "remove_all": _MAPPING, "wipe_table": _MAPPING, "clear": _MAPPING},
    "diskutil": {
        "erasedisk": _ERASE,
        "erasevolume": _ERASE,
        "eraseoptical": _ERASE,
        "reformat": _ERASE,
        "zerodisk": _ERASE,
        "randomdisk": _ERASE,
        "secureerase": _ERASE,
        "partitiondisk": _ERASE,
        "apfs deletecontainer": _ERASE,
        "apfs deletevolume": _VOLUME,
        "apfs deletesnapshot": _DATASET,
        "apfs erasevolume": _ERASE,
        "appleraid delete": _ARRAY,
        "resizevolume": _MAPPING,
        "splitpartition": _ERASE,
        "mergepartitions": _ERASE,
        "repartition": _ERASE,
        "eraseoptical quick": _ERASE,
        "addpartition": _MAPPING,
        "apfs deletevolumegroup": _VOLUME,
        "apfs resizecontainer": _MAPPING,
        "apfs encryptvolume": _MAPPING,
        "apfs decryptvolume": _MAPPING,
        "cs delete": _VOLUME,
        "cs deletevolume": _VOLUME,
        "cs deletelvg": _VOLUME,
        "corestorage delete": _VOLUME,
        "corestorage deletevolume": _VOLUME,
        "appleraid create": _ARRAY,
        "appleraid remove": _ARRAY,
    },
    "lvm": {"lvremove": _VOLUME, "vgremove": _VOLUME, "pvremove": _VOLUME, "lvreduce": _VOLUME, "vgreduce": _VOLUME},
    "stratis": {"pool destroy": _POOL, "filesystem destroy": _DATASET},
}


@command(*_SUBCOMMANDS)
def subcommand(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args,
        values=words("-o -O -c -s -h --cipher --key-size --hash --type -n --namespace-id"),
        long=_LONG,
    )
    if informs(opts) or (inv.name in ("zpool", "zfs") and opts.has("-n")):
        return
    named = [word.text.lower() for word in opts.operands[:2]]
    table = _SUBCOMMANDS[inv.name]
    for length in (2, 1):
        verb = table.get(" ".join(named[:length]))
        if verb is not None:
            _take_away(verb, opts.operands[length:], low)
            return


def _take_away(verb: Verb, targets: tuple[Word, ...], low: Lowering) -> None:
    named = [word for word in targets if word.text.startswith(("/dev/", "disk", "rdisk"))] if verb.device else []
    for device in named:
        overwrite(as_device(device), low)
    resource = named[0].text if named else targets[-1].text if targets else ""
    wide = verb.wide and bool(named or not verb.device)
    low.emit("data.destroy", resource, rule=verb.rule, reason=verb.reason, wide=wide)


@command("lvremove", "vgremove", "pvremove", "lvreduce", "vgreduce", "pvmove", "lvresize")
def volumes(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args,
        values=words("-L -l -S -A --reportformat --config --select --size --extents -n --name"),
        long=(*_LONG, "--test"),
    )
    if informs(opts) or opts.has("-t", "--test"):
        return
    if inv.name == "lvresize" and not any(
        size.text[:1] == "-" for size in opts.values("-L", "--size", "-l", "--extents")
    ):
        return
    if inv.name == "pvremove":
        for device in opts.operands:
            overwrite(device, low)
        return
    _take_away(_VOLUME, opts.operands, low)


_MDADM_CHANGES = words("--stop -S --zero-superblock --create -C --fail --remove --grow -G --set-faulty --build -f -r")


@command("mdadm")
def mdadm(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=("-l", "--level", "-n", "--raid-devices", "-c", "--config"), long=_LONG)
    if informs(opts) or not opts.has(*_MDADM_CHANGES):
        return
    if opts.has("--zero-superblock", "--create", "-C"):
        for device in opts.operands:
            overwrite(device, low)
    _take_away(_ARRAY, opts.operands, low)


@command("hdiutil", "asr")
def images(inv: Invocation, low: Lowering) -> None:
    verb = inv.args[0].text.lower() if inv.args else ""
    if inv.name == "asr" and verb == "restore" and any(word.text in ("--erase", "-erase") for word in inv.args):
        _take_away(_ERASE, inv.args[1:], low)
    elif inv.name == "hdiutil" and verb in ("create", "convert", "makehybrid", "resize", "burn", "erasekeys"):
        target = parse(inv.args[1:], values=("-o",), bundle=False)
        for image in (*target.operands[-1:], *target.values("-o")):
            low.write(image)
