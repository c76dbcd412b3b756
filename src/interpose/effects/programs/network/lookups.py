"""Questions to the network: names, routes, open ports."""

from __future__ import annotations

from interpose.effects.handler_table import command
from interpose.effects.invocation import NOTHING, Invocation, Lowering, Stream, Word
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.transfer import is_loopback, send_words

_LOOKUPS = {
    "dig": (), "nslookup": (), "host": (), "ping": ("-c", "-i", "-W", "-s", "-p", "-t", "-I", "-w"),
    "ping6": ("-c", "-i", "-W", "-s", "-p"), "traceroute": ("-m", "-p", "-q", "-w"), "tracepath": ("-m", "-p"),
    "mtr": ("-c", "-i", "-s"), "whois": ("-h", "-p"), "drill": (), "kdig": (), "doggo": (), "dog": (), "resolvectl": (),
    "delv": (), "getent": (), "arping": ("-c", "-I"), "fping": ("-c",), "hping3": ("-c", "-p"),
}  # fmt: skip


@command(*_LOOKUPS)
def lookup(inv: Invocation, low: Lowering) -> None:
    """A name that is looked up reaches the name server of its domain: secrets in it leave the machine."""
    opts = parse(inv.args, values=_LOOKUPS[inv.name], bundle=False)
    if any(word.text.lower() == "axfr" for word in opts.operands) or (inv.name == "host" and opts.has("-l")):
        low.emit("secret.read", "zone", rule="zone-transfer", reason="Asks a name server for every name that it knows.")
    for word in opts.operands:
        if "secret" in word.taints:
            low.emit("net.upload", word.text, at=word, secret=True, rule="dns-exfiltration")
        elif not word.known and word.taints and "." in word.text.strip(".") and "env" not in word.taints:
            low.emit(
                "net.upload",
                word.text,
                certainty="possible",
                at=word,
                secret=True,
                rule="dns-exfiltration",
                reason="Builds a host name from the output of a command: that is how data leaves through name lookups.",
            )
    if inv.name == "resolvectl" and len(opts.operands) > 2 and opts.word(0) in ("dns", "domain", "default-route"):
        low.emit("system", "resolver", rule="network", reason="Changes who is asked for the address of a name.")
    floods = ("--flood", "--faster") if inv.name == "hping3" else ("-f",) if inv.name in ("ping", "ping6") else ()
    if opts.has(*floods) and not any(is_loopback(word.text) for word in opts.operands):
        low.emit("system", inv.name, rule="network-flood",
                 reason="Sends as many packets as it can, so that others are cut off.")  # fmt: skip
    for path in opts.values("-f") if inv.name == "dig" else ():
        low.read(path)
    low.output(Stream(None, NOTHING))


@command("nmap", "masscan", "tcpdump", "tshark", "dumpcap")
def scanner(inv: Invocation, low: Lowering) -> None:
    """Scanners and sniffers: what matters is what they write, and what they run."""
    writes = {"nmap": ("-oN", "-oX", "-oG", "-oA", "-oS"), "masscan": ("-oX", "-oG", "-oJ", "-oL")}
    values = ("-i", "-c", "-w", "-r", "-z", "-Z", "-p", "-iL", "--script", "-s", "-C", "-G", "-W", "-F")
    opts = parse(inv.args, values=(*values, *writes.get(inv.name, ())), bundle=False)
    for path in opts.values("-w", *writes.get(inv.name, ())):
        if path.text != "-":
            low.write(path)
    for path in opts.values("-r", "-iL") + (opts.values("-F") if inv.name == "tcpdump" else ()):
        low.read(path)
    if inv.name == "tcpdump":
        for program in opts.values("-z"):
            low.run((program, Word("capture.pcap")), via="tcpdump")
    for script in opts.values("--script"):
        if "/" in script.text:
            low.run_file(script, via="nmap", language="lua")
    send_words(low, "", *opts.operands)
