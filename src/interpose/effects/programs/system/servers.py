"""Servers and brokers whose verbs are options or arrive on stdin: nginx, haproxy, nsupdate, and Kafka's scripts."""

from __future__ import annotations

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering
from interpose.effects.programs.shared.options import parse

_KAFKA = (
    "kafka-topics", "kafka-configs", "kafka-acls", "kafka-consumer-groups", "kafka-delete-records", "kafka-run-class",
    "kafka-reassign-partitions", "kafka-streams-application-reset", "kafka-features", "kafka-delegation-tokens",
)  # fmt: skip
_KAFKA_DESTROY = words("--delete --delete-config --delete-offsets --expire --remove --reset-offsets")


@command("nginx", "openresty", "angie", "freenginx")
def nginx(inv: Invocation, low: Lowering) -> None:
    signal = parse(inv.args, values=("-s", "-c", "-p", "-g", "-e"), bundle=False).value("-s")
    if signal is not None and signal.text in ("stop", "quit"):
        low.emit("system", "nginx", at=signal, rule="server-stop", reason="Stops a server that others may use.")


@command("haproxy")
def haproxy(inv: Invocation, low: Lowering) -> None:
    texts = [word.text for word in inv.args]
    # With a configuration, `-sf` lets a new process take over before the old one ends.
    takes_over = "-f" in texts and "-st" not in texts
    for word in inv.args:
        if word.text in ("-st", "-sf"):
            low.emit(
                "system",
                "haproxy",
                at=word,
                recoverable=takes_over,
                rule="server-stop",
                reason="Stops the running load balancer.",
            )


@command("apachectl", "apache2ctl", "httpd", "caddy", "lighttpd-angel")
def web_server(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=("-k", "-f", "-d", "-D", "-c"), bundle=False)
    signal = opts.value("-k")
    word = signal.text if signal is not None else opts.word(0)
    if word in ("stop", "graceful-stop"):
        low.emit("system", inv.name, recoverable=inv.name == "caddy", rule="server-stop", reason="Stops a web server.")


@command(*_KAFKA, *(f"{name}.sh" for name in _KAFKA))
def kafka(inv: Invocation, low: Lowering) -> None:
    if any(word.text in ("--help", "--dry-run", "--version") for word in inv.args):
        return
    script = inv.name.removesuffix(".sh")
    verbs = [word for word in inv.args if word.text in _KAFKA_DESTROY]
    if verbs or script in ("kafka-delete-records", "kafka-streams-application-reset"):
        topic = parse(inv.args, values=("--topic", "--group", "--entity-name"), bundle=False)
        name = topic.value("--topic", "--group", "--entity-name")
        low.emit(
            "data.destroy",
            name.text if name is not None else "",
            at=verbs[0] if verbs else None,
            rule=f"{script}{verbs[0].text[1:] if verbs else ''}",
            reason="Removes topics, offsets, rights or settings that others rely on.",
        )


@command("nsupdate", "knsupdate")
def nsupdate(inv: Invocation, low: Lowering) -> None:
    """Changes to a name server's records, read from stdin or a file."""
    text = inv.stdin.text if inv.stdin is not None else ""
    if text is None or " delete " in f" {text} ".replace("\n", " ") or inv.args:
        low.emit(
            "infra.destroy", "DNS records", rule="nsupdate", reason="Changes or removes records that others resolve."
        )
