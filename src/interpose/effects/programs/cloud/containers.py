"""Containers: docker, podman, nerdctl, buildah and compose.

Stopping costs nothing; removing does, because what a container or volume holds is nowhere else. What runs inside is
analysed like any command, with the paths of mounted directories translated to where they lie on this machine.
"""

from __future__ import annotations

from interpose.effects.agents.known_agents import PACKAGES
from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import NOTHING, Invocation, Lowering, Stream, Word
from interpose.effects.programs.shared.agent_starts import OTHERS_TOO
from interpose.effects.programs.shared.options import Options, parse
from interpose.effects.programs.shared.transfer import host_of, is_loopback
from interpose.effects.programs.shared.verbs import only_talks, scales_to_zero

_GLOBALS = words(
    """
    --config --connection --context --host --identity --log-level --namespace --root --runroot --storage-driver
    --storage-opt --tlscacert --tlscert --tlskey --tmpdir --url -H -c -l
    """
)
_GROUPS = words(
    """
    builder buildx checkpoint config container context image machine manifest network node plugin pod secret
    service stack swarm system trust volume
    """
)
_RUN_VALUES = words(
    """
    --add-host --annotation --attach --blkio-weight --cap-add --cap-drop --cgroup-parent --cgroupns --cidfile
    --cpu-period --cpu-quota --cpu-shares --cpus --cpuset-cpus --cpuset-mems --detach-keys --device
    --device-cgroup-rule --dns --dns-option --dns-search --domainname --entrypoint --env --env-file --expose
    --gpus --group-add --health-cmd --health-interval --health-retries --health-timeout --hostname --index --ip
    --ip6 --ipc --isolation --label --label-file --link --log-driver --log-opt --mac-address --memory
    --memory-swap --mount --name --net --network --network-alias --pid --pids-limit --platform --pod --publish
    --pull --restart --runtime --scale --secret --security-opt --shm-size --stop-signal --stop-timeout
    --storage-opt --sysctl --tmpfs --ulimit --user --userns --uts --volume --volume-driver --volumes-from
    --workdir -a -c -e -h -l -m -p -u -v -w
    """
)
_COMPOSE_VALUES = words(
    "--ansi --env-file --file --parallel --profile --progress --project-directory --project-name -f -p"
)
_RECOVERABLE = words("down kill pause restart stop unpause")
_REMOVE = words("delete demote leave prune remove reset revoke rm rmi uninstall unset")
_HOST_TREES = words(
    "/ /bin /boot /dev /etc /home /lib /opt /proc /root /run /sbin /sys /usr /Users /var /var/lib /var/run"
)
_SOCKETS = ("docker.sock", "containerd.sock", "podman.sock", "crio.sock")
_ESCAPES = {
    "--cap-add": words("ALL SYS_ADMIN SYS_MODULE SYS_PTRACE SYS_RAWIO DAC_READ_SEARCH CAP_SYS_ADMIN CAP_SYS_MODULE"),
    "--ipc": words("host"),
    "--pid": words("host"),
    "--userns": words("host"),
    "--cgroupns": words("host"),
    "--security-opt": words(
        "seccomp=unconfined apparmor=unconfined label=disable label:disable systempaths=unconfined"
    ),
}


@command("docker", "podman", "nerdctl", "docker.io", "podman-remote", "finch")
def docker(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=_GLOBALS, stop=True)
    sub, rest = opts.word(0), opts.operands[1:]
    if sub == "compose":
        compose(rest, low)
        return
    group = ""
    if sub in _GROUPS and rest:
        group, sub, rest = sub, rest[0].text, rest[1:]
    _send_context(opts, sub, rest, low)
    match sub:
        case "run" | "create" if group in ("", "container", "pod"):
            run(rest, low, f"{inv.name} {sub}")
        case "exec" if group in ("", "container"):
            enter(rest, low, f"{inv.name} exec")
        case "push":
            _publish(rest, low)
        case "build" | "bake" if any(word.text == "--push" for word in rest):
            _publish(rest, low)
        case "pull":
            low.emit("net.download", _resource(rest))
        case "cp":
            _copy(rest, low)
        case "save" | "export":
            _file(rest, low, "-o", "--output", writes=True)
        case "load" | "import":
            _file(rest, low, "-i", "--input", writes=False)
        case "ssh" | "unshare" if group == "machine" or (sub == "unshare" and not group):
            low.run(parse(rest, stop=True).operands[1 if group else 0 :], via=f"podman {sub}")
        case _ if not only_talks(rest):
            _remove(group, sub, rest, low)
            _disturb(group, sub, rest, low)
        case _:
            pass


@command("docker-compose", "podman-compose", "nerdctl-compose")
def docker_compose(inv: Invocation, low: Lowering) -> None:
    compose(inv.args, low)


@command("buildah")
def buildah(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=_GLOBALS, stop=True)
    rest = opts.operands[1:]
    match opts.word(0):
        case "run":
            enter(rest, low, "buildah run")
        case "push":
            _publish(rest, low)
        case sub if not only_talks(rest):
            _remove("", sub, rest, low)
        case _:
            pass


def compose(args: tuple[Word, ...], low: Lowering) -> None:
    """`docker compose ...`: its own options, then a subcommand."""
    opts = parse(args, values=_COMPOSE_VALUES, stop=True)
    sub, rest = opts.word(0), opts.operands[1:]
    if only_talks(rest) and sub not in ("run", "exec"):
        return
    match sub:
        case "run":
            run(rest, low, "docker compose run")
        case "exec":
            enter(rest, low, "docker compose exec")
        case "push":
            _publish(rest, low)
        case "down" if parse(rest).has("-v", "--volumes"):
            low.emit(
                "infra.destroy",
                "compose volumes",
                rule="compose-down-volumes",
                reason="Removes the volumes of the project, and with them the data of its databases.",
                instead="docker compose down",
            )
        case "rm" if parse(rest).has("-v"):
            low.emit(
                "infra.destroy", _resource(rest), rule="compose-rm-volumes", reason="Removes volumes and their data."
            )
        case "down" | "rm" | "stop" | "kill" | "restart" | "pause":
            low.emit("infra.destroy", "compose services", recoverable=True)
        case _:
            pass


_AGENT_IMAGES = frozenset(name.rpartition("/")[2] for name in PACKAGES) - OTHERS_TOO
"""Names of images that are agents."""


def run(args: tuple[Word, ...], low: Lowering, via: str) -> None:
    """A new container: what it may touch of this machine, then what runs in it."""
    opts = parse(args, values=_RUN_VALUES, stop=True)
    mounts = _mounts(opts, low)
    _confinement(opts, low)
    inner = opts.operands[1:]
    if opts.operands and opts.word(0).rpartition("/")[2].partition(":")[0].partition("@")[0] in _AGENT_IMAGES:
        low.emit("guard.tamper", opts.word(0), certainty="possible", at=opts.operands[0], rule="nested-agent",
                 reason="Starts another agent, whose calls nobody here sees")  # fmt: skip
    entry = opts.value("--entrypoint")
    if entry is not None and entry.text:
        inner = (entry, *inner)
    if inner:
        low.run(tuple(_on_host(word, mounts) for word in inner), via=via)


def enter(args: tuple[Word, ...], low: Lowering, via: str) -> None:
    """A command in a container that runs already."""
    opts = parse(args, values=_RUN_VALUES, stop=True)
    if opts.has("--privileged"):
        low.emit(
            "privilege",
            via,
            rule="container-privileged",
            grants=True,
            reason="Runs with all rights of the host's kernel.",
        )
    if opts.operands[1:]:
        low.run(opts.operands[1:], via=via)


def _send_context(opts: Options, sub: str, rest: tuple[Word, ...], low: Lowering) -> None:
    """A build on another machine gets the directory that it is built from."""
    host = opts.value("--host", "-H", "--url")
    if host is None or sub not in ("build", "bake", "cp", "load", "import") or not rest:
        return
    if host.text.startswith(("unix:", "npipe:", "/")) or is_loopback(host_of(host.text.rpartition("//")[2])):
        return
    low.emit("net.upload", host.text, at=host, file=True, rule="docker-remote-build",
             reason="Sends the directory that is built, with all that lies in it, to another machine.")  # fmt: skip


def _disturb(group: str, sub: str, rest: tuple[Word, ...], low: Lowering) -> None:
    """A swarm whose services are stopped, or whose plugins may do anything."""
    if (sub == "update" and group in ("service", "node") and _drains(rest)) or (
        sub == "scale" and group == "service" and scales_to_zero((Word("scale"), *rest))
    ):
        low.emit("infra.destroy", _resource(rest), rule=f"docker-{group}-drain",
                 reason="Stops every copy of a service, or all that runs on a node.")  # fmt: skip
    elif group == "plugin" and sub == "install" and any(word.text == "--grant-all-permissions" for word in rest):
        low.emit("privilege", _resource(rest), rule="container-privileged", grants=True,
                 reason="Gives a plugin all that it asks for on this machine.")  # fmt: skip


def _drains(rest: tuple[Word, ...]) -> bool:
    opts = parse(rest, values=("--replicas", "--availability"))
    replicas, availability = opts.value("--replicas"), opts.value("--availability")
    return (replicas is not None and replicas.text == "0") or (
        availability is not None and availability.text in ("drain", "pause")
    )


def _mounts(opts: Options, low: Lowering) -> list[tuple[str, str]]:
    """Mounted directories as (path in the container, path here), and the danger of mounting them."""
    mounts = []
    for name in ("-v", "--volume", "--mount"):
        for word in opts.values(name):
            host, inside = _mount(word, name == "--mount")
            if not host or host[0] not in "/.~$\ufffc":
                continue
            path = low.path(Word(host, word.span, taints=word.taints))
            mounts.append((inside.rstrip("/") or "/", path))
            if path in _HOST_TREES or path == low.home or path.endswith(_SOCKETS):
                low.emit(
                    "privilege",
                    path,
                    at=word,
                    rule="container-mounts-host",
                    grants=True,
                    reason=f"Hands {path} of this machine to the container, which can change all of it.",
                )
            else:
                low.read(path, recursive=True)
    return mounts


def _mount(word: Word, long_form: bool) -> tuple[str, str]:
    if not long_form:
        parts = word.text.split(":")
        return parts[0], parts[1] if len(parts) > 1 else ""
    fields = dict(part.partition("=")[::2] for part in word.text.split(","))
    inside = fields.get("target") or fields.get("destination") or fields.get("dst") or ""
    return fields.get("source") or fields.get("src") or "", inside


def _confinement(opts: Options, low: Lowering) -> None:
    loosened = [name for name in ("--privileged",) if opts.has(name)]
    for name, values in _ESCAPES.items():
        loosened += [f"{name}={word.text}" for word in opts.values(name) if word.text in values]
    for word in opts.values("--device"):
        if word.text.startswith(("/dev/sd", "/dev/nvme", "/dev/vd", "/dev/mem", "/dev/mapper", "/dev/disk")):
            loosened.append(f"--device={word.text}")
    if loosened:
        low.emit(
            "privilege",
            " ".join(loosened),
            rule="container-privileged",
            grants=True,
            reason=f"{loosened[0]} takes the walls of the container away: what runs in it can act on this machine.",
        )


def _on_host(word: Word, mounts: list[tuple[str, str]]) -> Word:
    for inside, host in mounts:
        if inside and (word.text == inside or word.text.startswith(inside.rstrip("/") + "/")):
            tail = word.text[len(inside) :].lstrip("/")
            text = f"{host.rstrip('/')}/{tail}" if tail else host
            return Word(text, word.span, word.glob, word.quoted, word.taints)
    return word


def _remove(group: str, sub: str, rest: tuple[Word, ...], low: Lowering) -> None:
    if sub in _RECOVERABLE:
        low.emit("infra.destroy", _resource(rest), recoverable=True)
        return
    if sub not in _REMOVE:
        return
    opts = parse(rest, values=("--filter", "--time", "-t"))
    volumes = group == "volume" or (group == "system" and opts.has("--volumes"))
    whole = (group == "system" and sub == "reset") or (group == "system" and volumes and opts.has("-a", "--all"))
    low.emit(
        "infra.destroy",
        _resource(rest) or group or "container",
        rule="-".join(part for part in ("docker", group, sub) if part),
        reason=_why(group, sub, volumes, whole),
        wide=whole,
        forced=opts.has("-f", "--force"),
    )


def _why(group: str, sub: str, volumes: bool, whole: bool) -> str:
    if whole:
        return "Wipes all unused images, containers and networks, and the data in volumes."
    if volumes:
        return "Removes volumes: the data in them is nowhere else."
    thing = {"": "image" if sub == "rmi" else "container", "system": "container, image and network"}.get(group, group)
    return f"Removes every unused {thing}." if sub == "prune" else f"Removes a {thing} and what only it holds."


def _publish(rest: tuple[Word, ...], low: Lowering) -> None:
    if not only_talks(rest):
        low.emit(
            "package.publish",
            _resource(rest),
            rule="image-push",
            reason="Puts an image where others will pull it.",
        )


def _copy(rest: tuple[Word, ...], low: Lowering) -> None:
    opts = parse(rest)
    if len(opts.operands) < 2:
        return
    source, target = opts.operands[0], opts.operands[1]
    if not _in_container(source):
        low.read(source, recursive=True)
    if not _in_container(target):
        low.write(target, Stream(taints=NOTHING))


def _in_container(word: Word) -> bool:
    head, colon, _ = word.text.partition(":")
    return bool(colon) and "/" not in head


def _file(rest: tuple[Word, ...], low: Lowering, *names: str, writes: bool) -> None:
    path = parse(rest, values=names).value(*names)
    if path is None:
        return
    if writes:
        low.write(path)
    else:
        low.read(path)


def _resource(rest: tuple[Word, ...]) -> str:
    return " ".join(word.text for word in rest if not word.text.startswith("-"))
