"""Disks, partitions, file systems and volumes: what writes over them and what takes them away."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import EMPTY_STREAM, Invocation, Lowering, Stream, Word
from interpose.effects.programs.shared.disk_space import ENDLESS, fills_disk, is_huge
from interpose.effects.programs.shared.options import Options, parse
from interpose.effects.programs.shared.streams import informs, standard_input

_LONG = ("--help", "--version")
_ENDLESS = ("/dev/zero", "/dev/urandom", "/dev/random", "/dev/full")


@command("dd", "gdd", "dcfldd", "dc3dd", "ddrescue", "dd_rescue")
def dd(inv: Invocation, low: Lowering) -> None:
    settings: dict[str, Word] = {}
    for word in inv.args:
        name, equals, value = word.text.partition("=")
        if equals:
            settings[name] = Word(value, word.span, word.glob, word.quoted, word.taints)
    if any(word.text in _LONG for word in inv.args):
        return
    if not settings and inv.name in ("ddrescue", "dd_rescue"):
        operands = parse(inv.args).operands
        settings = dict(zip(("if", "of"), operands, strict=False))
    source, target = settings.get("if"), settings.get("of")
    content = standard_input(inv) if source is None else _copied(source, low)
    if target is None:
        endless = source is not None and source.text in _ENDLESS and _takes_much(settings)
        low.output(Stream(taints=frozenset({ENDLESS})) if endless else content)
        return
    if not target.known and source is not None and source.text.startswith("/dev/"):
        _state_possible_disk(target, low)
    if source is not None and source.text in _ENDLESS and not low.path(target).startswith("/dev/"):
        _state_fill(settings, target, low)
    partly = "notrunc" in (settings["conv"].text if "conv" in settings else "")
    fills = source is not None and source.text in ("/dev/zero", "/dev/null")
    if source is not None and (source.text == "/dev/null" or (fills and partly)):
        low.write(target, content, emptied=True)
    else:
        low.write(target, content)


def _state_fill(settings: dict[str, Word], target: Word, low: Lowering) -> None:
    if _takes_much(settings):
        fills_disk(low, target)


def _takes_much(settings: dict[str, Word]) -> bool:
    count, size = settings.get("count"), settings.get("bs") or settings.get("obs")
    blocks = "1" if count is None else count.text
    return count is None or (blocks.isdecimal() and is_huge(size.text if size else "512", int(blocks[:18])))


def _copied(source: Word, low: Lowering) -> Stream:
    if source.text == "/dev/null" or source.text in _ENDLESS:
        return EMPTY_STREAM if source.text == "/dev/null" else Stream()
    return low.read(source)


def as_device(word: Word) -> Word:
    """`sda`, `disk0`: some tools take a device without its directory."""
    if word.text.startswith(("/", ".", "~")) or not word.known:
        return word
    return Word(f"/dev/{word.text}", word.span, taints=word.taints)


def overwrite(device: Word, low: Lowering) -> None:
    """State that a device, or an image in its place, is written over."""
    low.write(device, overwritten=True)
    if not device.known:
        _state_possible_disk(device, low)


def _state_possible_disk(target: Word, low: Lowering) -> None:
    low.emit("system", target.text, certainty="possible", at=target, rule="raw-device",
             reason="The target is computed and could be a disk")  # fmt: skip


_MKFS_VALUES = words(
    """
    -b -C -d -E -e -f -g -G -i -I -J -L -l -m -M -N -n -o -O -r -s -S -t -T -U -h -R --label --type --uuid
    --sector-size
    """
)
_MKFS_KINDS = words(
    "ext2 ext3 ext4 xfs btrfs vfat fat msdos exfat ntfs f2fs jfs reiserfs minix cramfs bfs nilfs2 udf erofs hfs "
    "hfsplus ocfs2 gfs2 bcachefs"
)


@command(
    "mkfs",
    *(f"mkfs.{kind}" for kind in _MKFS_KINDS),
    "mke2fs",
    "mkntfs",
    "mkdosfs",
    "mkexfatfs",
    "newfs",
    "newfs_apfs",
    "newfs_hfs",
    "newfs_msdos",
    "mkswap",
    "mkudffs",
    "bcachefs",
)
def mkfs(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=_values_of_mkfs(inv.name), long=_LONG)
    if (
        informs(opts)
        or opts.has("-V")
        or (opts.has("-n") and inv.name in ("mke2fs", "mkfs.ext4", "mkfs.ext3", "mkfs.ext2"))
    ):
        return
    operands = opts.operands
    if inv.name == "bcachefs":
        if opts.word(0) != "format":
            return
        operands = operands[1:]
    devices = [word for word in operands if not word.text.isdecimal()]
    # The last operand may be a size; what looks like a device is one in any case.
    for device in [word for word in devices if word.text.startswith("/dev/")] or devices[:1]:
        overwrite(device, low)


def _values_of_mkfs(name: str) -> Collection[str]:
    flags = {
        "mkfs.xfs": ("-f",),
        "mkfs.btrfs": ("-f", "-M"),
        "mkfs.f2fs": ("-f",),
        "mkntfs": ("-f", "-I"),
        "mkfs.ntfs": ("-f", "-I"),
        "mkswap": ("-f",),
    }
    dropped = flags.get(name, ())
    return tuple(value for value in _MKFS_VALUES if value not in dropped)


class DiskTool(Struct, frozen=True):
    """A disk tool: when it only looks, and which of its words name what is lost."""

    looks: Collection[str] = ()
    """Options or commands with which nothing is changed."""
    changes: Collection[str] = ()
    """Options or commands that change something. Empty: everything that is not in `looks`."""
    values: Collection[str] = ()


_PARTITIONERS = {
    "fdisk": DiskTool(
        looks=("-l", "--list", "-x", "-s", "--getsz", "-v", "-V"), values=("-b", "-c", "-t", "-u", "-o", "-w", "-W")
    ),
    "cfdisk": DiskTool(looks=("-r", "--read-only")),
    "sfdisk": DiskTool(
        looks=words(
            """
            -l --list -d --dump -J --json -F --list-free -s --show-size -V --verify -T --list-types -n --no-act -g
            """
        ),
        values=("-N", "-o", "-X", "-w", "-W", "-b"),
    ),
    "gdisk": DiskTool(looks=("-l",)),
    "sgdisk": DiskTool(
        looks=words("-p --print -i --info -v --verify -P --pretend -L --list-types -b --backup -F -E -D -O"),
        changes=words(
            """
            -o --clear -z --zap -Z --zap-all -d --delete -n --new -l --load-backup -t --typecode -g --mbrtogpt -R
            --replicate -c --change-name -A -G -s
            """
        ),
        values=words(
            """
            -i --info -d --delete -n --new -t --typecode -c --change-name -l -b --backup --load-backup -R
            --replicate -A -u
            """
        ),
    ),
    "wipefs": DiskTool(
        changes=("-a", "--all", "-o", "--offset"), looks=("-n", "--no-act", "-p"), values=("-o", "--offset", "-t", "-O")
    ),
    "blkdiscard": DiskTool(values=("-o", "-l", "-p", "--offset", "--length", "--step")),
    "hdparm": DiskTool(
        changes=words(
            """
            --security-erase --security-erase-enhanced --trim-sector-ranges --trim-sector-ranges-stdin
            --write-sector --repair-sector --make-bad-sector --format-track --sanitize-crypto-scramble
            --sanitize-block-erase --sanitize-overwrite --fwdownload --security-set-pass --dco-restore
            --drq-hsm-error
            """
        ),
        values=words(
            """
            --security-erase --security-erase-enhanced --write-sector --repair-sector --make-bad-sector
            --security-set-pass --security-unlock --security-disable --user-master
            """
        ),
    ),
    "badblocks": DiskTool(
        changes=("-w", "-n"),
        values=words("-b -c -d -e -i -o -p -t"),
    ),
}


@command(*_PARTITIONERS)
def partition(inv: Invocation, low: Lowering) -> None:
    tool = _PARTITIONERS[inv.name]
    opts = parse(inv.args, values=tool.values, long=(*_LONG, *tool.changes, *tool.looks))
    if informs(opts) or opts.has(*tool.looks) or (tool.changes and not opts.has(*tool.changes)):
        return
    for device in opts.operands:
        if "/" in device.text:
            overwrite(device, low)


_PARTED_LOOKS = frozenset({"print", "p", "help", "unit", "align-check", "quit", "select", "version"})


@command("parted")
def parted(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=("-a", "--align"), long=(*_LONG, "--script", "--list"))
    if informs(opts) or opts.has("-l", "--list") or len(opts.operands) < 2:
        return
    device, *commands = opts.operands
    if commands[0].text not in _PARTED_LOOKS or any(
        word.text in ("mklabel", "mktable", "rm", "mkpart", "resizepart") for word in commands
    ):
        overwrite(device, low)


@command(
    *words(
        """
    tune2fs e2label xfs_repair debugfs fsck e2fsck fsck.ext4 fsck.ext3 fsck.ext2 fsck.xfs fsck.vfat fsck.btrfs
    xfs_growfs resize2fs ntfsfix
    """
    )
)
def check(inv: Invocation, low: Lowering) -> None:
    """Checking and tuning keeps the data; only what is asked to write by hand or to shrink can lose it."""
    opts = parse(
        inv.args,
        values=words("-R -f -s -t -b -L -O -E -m -c -i -U"),
        long=_LONG,
    )
    if informs(opts) or opts.has("-N", "-l"):
        return
    writes = inv.name == "debugfs" and opts.has("-w")
    if inv.name == "debugfs":
        _past_rights(inv, low)
    forgets = (inv.name == "xfs_repair" and opts.has("-L")) or (
        inv.name == "tune2fs" and opts.has("-O", "-E", "-U", "-f")
    )
    shrinks = inv.name == "resize2fs" and (opts.has("-M", "-f") or len(opts.operands) > 1)
    if writes or forgets or shrinks:
        target = opts.operands[-1] if opts.operands else None
        low.emit(
            "system",
            target.text if target else inv.name,
            rule="file-system-change",
            reason="The file system itself is changed; a mistake here loses what lies on it",
        )


_RUNNING = frozenset({"/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/root", "/sbin", "/usr", "/var"})
"""Places that a running system cannot do without."""


@command("mount", "umount", "swapon", "swapoff", "losetup", "partprobe", "kpartx")
def mount(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args, values=("-t", "-o", "-O", "-L", "-U", "--options", "--types"), long=(*_LONG, "--all", "--lazy")
    )
    if informs(opts):
        return
    settings = ",".join(word.text for word in opts.values("-o", "--options")).split(",")
    targets = {low.path(word) for word in opts.operands}
    if inv.name == "umount" and (opts.has("-a", "--all") or targets & _RUNNING):
        low.emit("system", "all mounts", rule="unmount-all", reason="All file systems are taken away at once")
    elif inv.name == "mount" and "remount" in settings and targets & {"/", "/usr", "/etc", "/boot", "/proc", "/sys"}:
        low.emit(
            "system", sorted(targets)[0], rule="remount", reason="A file system of the running system is remounted"
        )
    elif inv.name == "mount" and len(opts.operands) == 2 and low.path(opts.operands[1]) in _RUNNING:
        low.emit("system", opts.operands[1].text, rule="mount-over", reason="A directory of the system is covered")
    elif inv.name == "mount" and (
        opts.has("--bind", "--rbind", "-B", "-R", "--move", "-M") or {"bind", "rbind"} & set(settings)
    ):
        _bind(opts, low)


def _bind(opts: Options, low: Lowering) -> None:
    """Two names for one place: what is done under the second is done to the first."""
    if len(opts.operands) == 2:
        low.emit("system", low.path(opts.operands[1]), rule="bind-mount", reason="One directory is put over another")


def _past_rights(inv: Invocation, low: Lowering) -> None:
    """Files are read past the system's rights: `debugfs -R 'cat /etc/shadow' /dev/sda1`."""
    order = parse(inv.args, values=("-R", "-f", "-b", "-s", "-z", "-i")).value("-R")
    parts = order.text.split() if order is not None else []
    if order is not None and len(parts) > 1 and parts[0] in ("cat", "dump", "rdump", "blocks"):
        path = next((part for part in parts[1:] if part[:1] != "-"), "")
        low.output(low.read(Word(path, order.span), recursive=parts[0] == "rdump"))
