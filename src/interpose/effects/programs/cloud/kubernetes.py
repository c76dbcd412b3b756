"""Kubernetes: kubectl, oc, helm, and the tools that carry a kubectl inside."""

from __future__ import annotations

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Stream, Word
from interpose.effects.paths import secret_of
from interpose.effects.programs.shared.options import Options, parse
from interpose.effects.programs.shared.verbs import general, only_talks

_VALUES = words(
    """
    --as --as-group --as-uid --cache-dir --certificate-authority --client-certificate --client-key --cluster
    --container --context --field-manager --field-selector --filename --grace-period --image --kubeconfig
    --kustomize --label-selector --namespace --output --password --pod-selector --profile --profile-output
    --replicas --request-timeout --selector --server --template --timeout --tls-server-name --token --type
    --address --clusterrole --group --overrides --patch --role --serviceaccount --user --username -c -f -k -l -n -o -p
    -s -v
    """
)
_WHOLE = words(
    """
    apiservice apiservices clusterrole clusterroles crd crds customresourcedefinition customresourcedefinitions
    namespace namespaces node nodes no ns project projects
    """
)
_DATA = words("persistentvolume persistentvolumeclaim persistentvolumeclaims persistentvolumes pv pvc statefulset sts")
_SECRET_FORMS = ("yaml", "json", "jsonpath", "go-template", "custom-columns", "template")
_HELM_VALUES = words(
    """
    --kube-apiserver --kube-as-group --kube-as-user --kube-ca-file --kube-context --kube-token --kubeconfig
    --namespace --registry-config --repository-cache --repository-config --timeout -n
    """
)


@command("kubectl", "oc", "kubecolor", "k", "kubectl.docker")
def kubectl(inv: Invocation, low: Lowering) -> None:
    own, inner = _split(inv.args)
    opts = parse(own, values=_VALUES)
    sub = opts.word(0)
    if sub in ("exec", "rsh", "debug", "run"):
        command_words = (*opts.operands[2:], *inner) if sub in ("exec", "rsh") else inner
        if sub == "debug" and opts.word(1).startswith(("node/", "no/", "nodes/")):
            low.emit(
                "privilege",
                opts.word(1),
                grants=True,
                rule="kubectl-node",
                reason="Opens a node of the cluster as root.",
            )
        overrides = opts.value("--overrides")
        said = overrides.text.replace(" ", "").lower() if overrides is not None else ""
        if opts.has("--privileged") or any(part in said for part in _OPENING_PATCHES):
            low.emit("privilege", opts.word(1), rule="kubectl-privileged", grants=True,
                     reason="Takes the walls between a container and its node away.")  # fmt: skip
        if command_words:
            low.run(command_words, via=f"{inv.name} {sub}")
        return
    if only_talks(inv.args):
        return
    match sub:
        case "delete":
            _delete(opts, low)
        case "apply" | "create" | "replace" | "set" | "edit" | "patch":
            _change(sub, opts, low, inv.stdin)
        case "get" | "config" | "extract":
            _secrets(sub, opts, low)
        case "cp":
            _copy(opts, low)
        case _:
            _disturb(sub, opts, low)


@command("helm", "helm3")
def helm(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=_HELM_VALUES)
    renderer = opts.value("--post-renderer")
    if renderer is not None:
        low.run((renderer,), via="helm --post-renderer")
    if only_talks(inv.args):
        return
    match opts.word(0):
        case "uninstall" | "delete" | "del" | "un":
            low.emit(
                "infra.destroy",
                _rest(opts),
                rule="helm-uninstall",
                reason="Removes a release and everything it runs in the cluster.",
                instead=f"helm status {opts.word(1)}" if opts.word(1) else "",
            )
        case "rollback":
            low.emit(
                "infra.destroy",
                _rest(opts),
                rule="helm-rollback",
                reason="Replaces what runs in the cluster by an older revision.",
            )
        case "upgrade" if opts.has("--force", "--reset-values", "--force-replace"):
            low.emit(
                "infra.destroy",
                _rest(opts),
                rule="helm-upgrade-force",
                reason="Deletes and makes anew what it cannot change, or forgets the values that were set.",
                instead="helm diff upgrade " + _rest(opts),
            )
        case "push":
            low.emit("package.publish", _rest(opts), rule="helm-push", reason="Publishes a chart.")
        case "repo" | "plugin" if opts.word(1) in ("remove", "rm", "uninstall"):
            low.emit("infra.destroy", _rest(opts), recoverable=True)
        case _:
            pass


@command("k3s-uninstall.sh", "k3s-agent-uninstall.sh", "k3s-killall.sh", "rke2-uninstall.sh", "rke2-killall.sh")
def uninstaller(inv: Invocation, low: Lowering) -> None:
    low.emit("infra.destroy", inv.name, rule="cluster-uninstall",
             reason="Takes a node of the cluster down with everything that runs on it.")  # fmt: skip


@command("minikube", "k3s", "microk8s", "k0s")
def carrier(inv: Invocation, low: Lowering) -> None:
    """Tools that carry a kubectl, and otherwise follow the general rule."""
    opts = parse(inv.args, values=("-p", "--profile"), stop=True)
    if opts.word(0) in ("kubectl", "helm"):
        rest = [word for word in opts.operands[1:] if word.text != "--"]
        low.run((opts.operands[0], *rest), via=inv.name)
    elif opts.word(0) == "ssh" and opts.operands[1:]:
        low.run(tuple(word for word in opts.operands[1:] if word.text != "--"), via=f"{inv.name} ssh")
    else:
        general(inv, low)


def _split(args: tuple[Word, ...]) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
    for index, word in enumerate(args):
        if word.text == "--":
            return args[:index], args[index + 1 :]
    return args, ()


def _rest(opts: Options) -> str:
    return " ".join(word.text for word in opts.operands[1:])


def _delete(opts: Options, low: Lowering) -> None:
    kinds = {word.text.partition("/")[0].partition(".")[0].lower() for word in opts.operands[1:]}
    kinds |= {kind for word in opts.operands[1:2] for kind in word.text.lower().split(",")}
    everywhere = opts.has("-A", "--all-namespaces") and opts.has("--all")
    whole = bool(kinds & _WHOLE) or everywhere or ("all" in kinds and opts.has("--all"))
    if kinds & _DATA:
        reason = "Deletes storage in the cluster, and with it the data."
    elif whole:
        reason = "Deletes a whole namespace, node or kind of resource with everything in it."
    else:
        reason = "Deletes resources that run in the cluster."
    file = opts.value("-f", "--filename", "-k", "--kustomize")
    low.emit(
        "infra.destroy",
        _rest(opts) or (file.text if file else ""),
        rule="kubectl-delete",
        reason=reason,
        wide=whole,
        forced=opts.has("--force", "--now"),
        instead=f"kubectl get {_rest(opts)}" if _rest(opts) else "",
    )


_TOO_FREE = (
    "cluster-admin",
    "privileged:true",
    "hostpid:true",
    "hostipc:true",
    "hostpath:,path:/,",
    "hostpath:{path:/}",
    "docker.sock",
)
"""What a manifest holds that gives somebody the cluster, or a pod its node, without blanks and quotes."""


def _manifest(content: Stream, low: Lowering) -> None:
    text = (content.text or "")[:65_536].lower()
    plain = ",".join("".join(line.split()).replace('"', "").replace("'", "") for line in text.splitlines()) + ","
    if any(sign in plain for sign in _TOO_FREE):
        low.emit("privilege", "manifest", rule="kubectl-manifest", grants=True,
                 reason="Gives somebody full rights on the cluster, or a pod those of its node.")  # fmt: skip


def _change(sub: str, opts: Options, low: Lowering, stdin: Stream | None) -> None:
    for file in opts.values("-f", "--filename"):
        if file.text.startswith(("http://", "https://")):
            low.emit("net.download", file.text, at=file)
        elif file.text != "-":
            _manifest(low.read(file), low)
        elif stdin is not None:
            _manifest(stdin, low)
    if sub == "replace" and opts.has("--force"):
        low.emit(
            "infra.destroy",
            _rest(opts),
            rule="kubectl-replace-force",
            reason="Deletes the resources before it creates them again.",
            instead="kubectl diff -f " + file_text(opts),
        )
    elif sub == "apply" and opts.has("--prune"):
        low.emit("infra.destroy", _rest(opts), rule="kubectl-prune", reason="Deletes whatever the files do not name.")
    elif sub == "create" and opts.word(1) in ("clusterrolebinding", "rolebinding"):
        role = opts.value("--clusterrole")
        if role is not None and role.text in ("cluster-admin", "admin"):
            low.emit(
                "privilege",
                _rest(opts),
                rule="kubectl-admin",
                grants=True,
                reason="Gives someone full rights on the cluster.",
            )
    elif sub == "patch":
        _patch(opts, low)


_PATCHES = (
    ('"finalizers":null', "kubectl-finalizers", "Skips the clean-up that protects data."),
    ('"finalizers":[]', "kubectl-finalizers", "Skips the clean-up that protects data."),
    ("/finalizers", "kubectl-finalizers", "Skips the clean-up that protects data."),
    ('"replicas":0', "kubectl-scale-zero", "Stops every copy of a service."),
    ("replicas:0", "kubectl-scale-zero", "Stops every copy of a service."),
    ('/replicas","value":0', "kubectl-scale-zero", "Stops every copy of a service."),
    ('"suspend":true', "kubectl-suspend", "Stops a job that runs by the clock."),
    ('"persistentvolumereclaimpolicy":"delete"', "kubectl-reclaim", "Lets storage be deleted with its claim."),
    ('"unschedulable":true', "kubectl-cordon", "Keeps work off a node."),
    ('"op":"remove"', "kubectl-patch-remove", "Takes something out of what runs in the cluster."),
)
_OPENING_PATCHES = ('"privileged":true', '"hostpath"', '"hostpid":true', '"hostnetwork":true', "cluster-admin")


def _patch(opts: Options, low: Lowering) -> None:
    for word in opts.values("-p", "--patch"):
        said = word.text.replace(" ", "").lower()
        for part, rule, reason in _PATCHES:
            if part in said:
                low.emit("infra.destroy", _rest(opts), at=word, rule=rule, reason=reason)
                return
        if any(part in said for part in _OPENING_PATCHES):
            low.emit("privilege", _rest(opts), at=word, rule="kubectl-privileged", grants=True,
                     reason="Takes the walls between a container and its node away.")  # fmt: skip


def file_text(opts: Options) -> str:
    """The manifest that a command names."""
    file = opts.value("-f", "--filename")
    return file.text if file is not None else "-"


def _secrets(sub: str, opts: Options, low: Lowering) -> None:
    form = opts.value("-o", "--output")
    kinds = opts.word(1).lower().split(",")
    match sub:
        case "get":
            shows = form is not None and form.text.startswith(_SECRET_FORMS)
            reads = shows and any(kind.partition("/")[0].partition(".")[0] in ("secret", "secrets") for kind in kinds)
        case "config":
            reads = opts.word(1) == "view" and opts.has("--raw")
            if opts.word(1) in ("delete-cluster", "delete-context", "delete-user", "unset"):
                low.emit(
                    "infra.destroy", _rest(opts), rule="kubectl-config-delete", reason="Removes access to a cluster."
                )
        case _:
            reads = "secret" in opts.word(1)
    if reads:
        low.emit("secret.read", _rest(opts), rule="kubectl-secret", reason="Prints secrets of the cluster.")
        low.output(Stream(taints=frozenset({"secret"})))


def _copy(opts: Options, low: Lowering) -> None:
    if len(opts.operands) < 3:
        return
    source, target = opts.operands[1], opts.operands[2]
    if ":" not in source.text:
        low.read(source, recursive=True)
    elif (inside := source.text.partition(":")[2]).startswith("/") and secret_of(inside, low.home):
        low.read(Word(inside, source.span))
    if ":" not in target.text:
        low.write(target)


def _is_loopback(addresses: str) -> bool:
    return all(part.strip() in ("localhost", "127.0.0.1", "::1", "") for part in addresses.split(","))


def _disturb(sub: str, opts: Options, low: Lowering) -> None:
    """Commands that take running work down without deleting its description, or open it to others."""
    replicas = opts.value("--replicas")
    address = opts.value("--address")
    if sub in ("port-forward", "proxy") and address is not None and not _is_loopback(address.text):
        low.emit("net.listen", _rest(opts), at=address, public=True, rule="kubectl-expose",
                 reason="Lets everybody who reaches this machine into the cluster.")  # fmt: skip
    elif sub == "expose" and (kind := opts.value("--type")) is not None and kind.text in ("LoadBalancer", "NodePort"):
        low.emit("net.listen", _rest(opts), at=kind, public=True, rule="kubectl-expose",
                 reason="Opens a service of the cluster to the world outside.")  # fmt: skip
    elif sub == "certificate" and opts.word(1) == "approve":
        low.emit("privilege", _rest(opts), rule="kubectl-certificate", grants=True,
                 reason="Lets somebody into the cluster.")  # fmt: skip
    elif sub == "drain" or (sub == "adm" and opts.word(1) == "drain"):
        low.emit("infra.destroy", _rest(opts), rule="kubectl-drain", reason="Evicts everything that runs on a node.")
    elif sub == "scale" and replicas is not None and replicas.text == "0":
        low.emit("infra.destroy", _rest(opts), rule="kubectl-scale-zero", reason="Stops every copy of a service.")
    elif sub == "rollout" and opts.word(1) == "undo":
        low.emit(
            "infra.destroy",
            _rest(opts),
            rule="kubectl-rollout-undo",
            reason="Replaces what runs by an older revision.",
            instead="kubectl rollout history " + " ".join(word.text for word in opts.operands[2:]),
        )
    elif sub == "taint" and any(word.text.endswith(":NoExecute") for word in opts.operands):
        low.emit("infra.destroy", _rest(opts), rule="kubectl-taint", reason="Evicts everything that runs on a node.")
    elif sub == "adm" and opts.word(1) == "prune" and opts.has("--confirm"):
        low.emit("infra.destroy", _rest(opts), rule="oc-prune", reason="Deletes old builds, images or deployments.")
    elif sub == "adm" and opts.word(1) == "policy" and any("admin" in word.text for word in opts.operands[2:]):
        low.emit(
            "privilege",
            _rest(opts),
            rule="kubectl-admin",
            grants=True,
            reason="Gives someone full rights on the cluster.",
        )
