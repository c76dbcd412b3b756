"""Methods of client libraries that destroy what lies behind an API, recognised by name in every language."""

from __future__ import annotations

from interpose.effects.invocation import Lowering
from interpose.effects.languages.program_values import ProgramValue
from interpose.effects.values import EffectKind

_VERBS = frozenset({"delete", "drop", "destroy", "terminate", "purge", "truncate", "clear", "wipe", "flush", "erase",
                    "prune", "schedule", "deregister"})  # fmt: skip
_DATA = frozenset({"index", "indexes", "indices", "objects", "table", "tables", "database", "databases", "collection",
                   "collections", "topic", "topics", "all", "db", "keyspace", "schema", "records", "documents",
                   "many", "query", "keyspaces"})  # fmt: skip
_INFRA = frozenset({"bucket", "buckets", "instance", "instances", "cluster", "clusters", "stack", "stacks", "queue",
                    "queues", "namespace", "namespaces", "volume", "volumes", "snapshot", "snapshots", "deployment",
                    "function", "user", "users", "role", "project", "repository", "repo", "zone", "vpc",
                    "group", "pod", "pods", "deployments", "secret", "secrets", "droplet", "droplets", "subnet",
                    "container", "containers", "distribution", "workspace", "workspaces", "organization", "domain",
                    "server", "servers", "deletion", "statefulset", "claim", "certificate", "parameter", "parameters",
                    "registry", "pipeline", "environment", "subscription", "tenant", "vault", "site"})  # fmt: skip
_OBJECTS = frozenset({"volumes", "images", "containers", "networks", "instances", "snapshots", "buckets", "clusters",
                      "object_versions", "objects", "indices"})  # fmt: skip
"""Collections of client libraries, all of which goes at once."""
_OF_ALL = frozenset({"prune", "terminate", "delete", "stop", "remove"})
_WHOLE = {"flushall": True, "flushdb": False, "dropdatabase": False, "drop_all": True, "drop_database": False}


def destroys(method: str, args: tuple[ProgramValue, ...], low: Lowering) -> bool:
    """State what a call of `method` on some client would destroy, if its name says so."""
    lowered = method.lower()
    if lowered in _WHOLE:
        _state("data.destroy", method, args, low, wide=_WHOLE[lowered])
        return True
    verb, _, noun = _snake(method.removesuffix("Command")).partition("_")
    if verb not in _VERBS or not noun:
        return False
    last = noun.rpartition("_")[2]
    if last in _DATA:
        _state("data.destroy", method, args, low, wide=False)
    elif last in _INFRA:
        _state("infra.destroy", method, args, low, wide=False)
    else:
        return False
    return True


def destroys_all(collection: str, method: str, args: tuple[ProgramValue, ...], low: Lowering) -> bool:
    """State what `client.volumes.prune()` and its like would destroy."""
    if collection not in _OBJECTS or method not in _OF_ALL or args:
        return False
    _state("infra.destroy", f"{collection}.{method}", args, low, wide=False)
    return True


def _state(kind: EffectKind, method: str, args: tuple[ProgramValue, ...], low: Lowering, *, wide: bool) -> None:
    resource = args[0].text if args else method
    low.emit(kind, resource, certainty="possible", rule="api-delete", wide=wide,
             reason=f"`{method}` of a client library removes what lies behind its API")  # fmt: skip


def _snake(name: str) -> str:
    out: list[str] = []
    for char in name:
        if char.isupper() and out and out[-1] != "_":
            out.append("_")
        out.append(char.lower())
    return "".join(out)
