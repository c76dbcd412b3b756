"""Downloaders and HTTP clients other than curl."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Stream, Word
from interpose.effects.programs.shared.options import Options, parse
from interpose.effects.programs.shared.streams import informs, standard_input
from interpose.effects.programs.shared.transfer import REMOTE, fetch, request, send, send_file, send_words, url_of
from interpose.effects.streams import joined

_WGET_ALIASES = {
    "--output-document": "-O", "--directory-prefix": "-P", "--input-file": "-i", "--quiet": "-q", "--execute": "-e",
    "--output-file": "-o", "--append-output": "-a", "--help": "-h", "--user-agent": "-U", "--tries": "-t",
    "--timeout": "-T", "--recursive": "-r", "--version": "-V", "--level": "-l", "--accept": "-A", "--reject": "-R",
    "--domains": "-D", "--wait": "-w", "--quota": "-Q", "--base": "-B", "--include-directories": "-I",
    "--exclude-directories": "-X",
}  # fmt: skip
_WGET_VALUES = (
    "-O", "-P", "-i", "-e", "-o", "-a", "-U", "-t", "-T", "-l", "-A", "-R", "-D", "-w", "-Q", "-B", "-I", "-X",
    "--post-file", "--post-data", "--body-file", "--body-data", "--method", "--header", "--use-askpass", "--user",
    "--password", "--http-user", "--http-password", "--proxy-user", "--proxy-password", "--load-cookies",
    "--save-cookies", "--certificate", "--private-key", "--ca-certificate", "--referer", "--limit-rate",
    "--config", "--waitretry", "--cut-dirs", "--bind-address", "--warc-file", "--rejected-log", "--max-redirect",
    "--exclude-domains", "--default-page", "--dns-timeout", "--connect-timeout", "--read-timeout",
)  # fmt: skip
_WGET_LONG = ("--spider", "--delete-after", "--no-check-certificate", "--continue", "--mirror", "--no-clobber")


@command("wget", "wget2")
def wget(inv: Invocation, low: Lowering) -> None:
    """wget writes to a file unless told otherwise."""
    opts = parse(inv.args, values=_WGET_VALUES, aliases=_WGET_ALIASES, long=_WGET_LONG)
    if opts.has("-h", "-V"):
        return
    host = url_of(opts.word(0)).host
    for path in opts.values("--post-file", "--body-file"):
        send_file(low, host, path)
    send_words(low, host, *opts.operands, *opts.values("--post-data", "--body-data", "--referer", "-U", "-B"))
    for path in opts.values("-i", "--load-cookies", "--config"):
        if path.text != "-":
            low.read(path)
    _wget_helpers(low, opts)
    method = opts.value("--method")
    sends = opts.has("--post-file", "--post-data")
    answers: list[Stream] = []
    for url in opts.operands:
        answers.append(fetch(low, url))
        request(low, method.text if method else "POST" if sends else "GET", url)
    for path in opts.values("-o", "-a", "--save-cookies", "--rejected-log", "--warc-file"):
        low.write(path)
    if not opts.has("--spider"):
        _wget_deliver(low, opts, joined(answers) if answers else REMOTE)


def _wget_helpers(low: Lowering, opts: Options) -> None:
    for word in (*opts.values("--use-askpass"), *opts.values("-e")):
        name, _, value = word.text.rpartition("=")
        if not name or name.strip().replace("-", "_").lower() == "use_askpass":
            low.run((Word(value.strip(), word.span),), via="wget")
            low.emit(
                "opaque",
                value,
                at=word,
                rule="askpass",
                reason="Runs a program under the pretext of asking for a password.",
            )


def _wget_deliver(low: Lowering, opts: Options, answer: Stream) -> None:
    target = opts.value("-O")
    if target is not None:
        if target.text in ("-", "/dev/stdout"):
            low.output(answer)
        else:
            low.write(target, answer)
        return
    prefix = opts.value("-P")
    if opts.has("-r", "-m", "--mirror", "-p", "--page-requisites"):
        low.write(prefix or url_of(opts.word(0)).host)
        host = url_of(opts.word(0)).host
        low.write(Word(f"{prefix.text.rstrip('/')}/{host}" if prefix else host), answer, directory=True)
        return
    for url in opts.operands:
        name = url_of(url.text).name or "index.html"
        low.write(Word(f"{prefix.text.rstrip('/')}/{name}" if prefix else name, url.span), answer)


_HTTPIE_VALUES = (
    "-o", "--output", "-s", "--style", "-p", "--print", "-a", "--auth", "-A", "--auth-type", "--session", "--raw",
    "--session-read-only", "--proxy", "--max-redirects", "--timeout", "--verify", "--ssl", "--ciphers", "--cert",
    "--cert-key", "--default-scheme", "--boundary", "--format-options", "--pretty", "--response-charset",
    "--response-mime", "--max-headers", "--cert-key-pass", "-P", "--history-print", "--interface", "--resolve",
    "--http-version",
)  # fmt: skip
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"})


@command("http", "https", "xh", "xhs", "httpie")
def httpie(inv: Invocation, low: Lowering) -> None:
    """`http POST host/path name=value file@path`; data on standard input is the body."""
    opts = parse(inv.args, values=_HTTPIE_VALUES)
    words = list(opts.operands)
    if inv.name == "httpie" and words and words[0].text in ("cli", "plugins"):
        return
    method = words.pop(0).text.upper() if words and words[0].text.upper() in _METHODS else ""
    if not words or opts.has("--offline", "--curl") or (informs(opts) and not words):
        return
    url, *items = words
    if url.text.startswith(":"):
        rest = url.text[1:]
        url = Word("localhost" + (url.text if rest[:1].isdigit() else rest), url.span, taints=url.taints)
    host = url_of(url.text).host
    for item in items:
        _httpie_item(low, host, item)
    send_words(low, host, url, *opts.values("--raw"))
    piped = inv.stdin is not None and not opts.has("--ignore-stdin", "-I")
    if piped:
        send(low, host, standard_input(inv))
    answer = fetch(low, url)
    request(low, method or ("POST" if piped or any(_is_data(item.text) for item in items) else "GET"), url)
    target = opts.value("-o", "--output")
    if target is not None:
        low.write(target, answer)
    low.output(answer)


def _is_data(item: str) -> bool:
    return "@" in item or ("=" in item and "==" not in item)


def _httpie_item(low: Lowering, host: str, item: Word) -> None:
    text = item.text
    for mark in (":=@", "=@", "@"):
        name, found, path = text.partition(mark)
        if found and ":" not in name and "=" not in name:
            send_file(low, host, Word(path.partition(";")[0], item.span, taints=item.taints), item, body=mark != "@")
            return
    if ":" not in text.partition("=")[0]:
        send_words(low, host, item)


class _Fetcher(Struct, frozen=True):
    """A downloader in a few words: where it writes, and which options run a command afterwards."""

    values: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    directory: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    runs_program: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    prints: bool = False


_FETCHERS: Mapping[str, _Fetcher] = {
    "aria2c": _Fetcher(
        values=("-x", "-s", "-j", "-k", "-l", "--log", "--header", "--user-agent", "-U", "--max-tries", "-m", "-t"),
        target=("-o", "--out"),
        directory=("-d", "--dir"),
        runs_program=(
            "--on-download-complete", "--on-bt-download-complete", "--on-download-start", "--on-download-stop",
            "--on-download-pause", "--on-download-error",
        ),
        reads=("-i", "--input-file", "--conf-path"),
        prints=True,
    ),
    "axel": _Fetcher(values=("-n", "-s", "-H", "-U", "-T"), target=("-o", "--output")),
    "httrack": _Fetcher(values=("-r", "-s"), target=("-O",), runs=("-V", "--userdef-cmd")),
    "yt-dlp": _Fetcher(
        values=("-f", "--format", "--cookies-from-browser", "-u", "-p", "-r", "-P", "--external-downloader"),
        target=("-o", "--output"),
        runs=("--exec", "--exec-before-download"),
        reads=("-a", "--batch-file", "--cookies"),
    ),
    "gallery-dl": _Fetcher(values=("-u", "-p", "-D"), runs=("--exec", "--exec-after"), reads=("-i",)),
    "fetch": _Fetcher(target=("-o",), prints=True),
    "lynx": _Fetcher(values=("-width", "-useragent"), prints=True),
    "w3m": _Fetcher(values=("-T", "-cols"), prints=True),
    "links": _Fetcher(prints=True),
    "elinks": _Fetcher(prints=True),
    "lwp-request": _Fetcher(values=("-m", "-H", "-t"), prints=True),
    "GET": _Fetcher(values=("-m", "-H", "-t"), prints=True),
}  # fmt: skip


def _page(tool: _Fetcher, low: Lowering, url: Word) -> Stream:
    """What a browser shows: a page, or a file of this machine."""
    local = tool.prints and "://" not in url.text and url.text.startswith(("/", "~", "."))
    return low.read(url) if local else fetch(low, url)


@command("youtube-dl", *_FETCHERS)
def fetcher(inv: Invocation, low: Lowering) -> None:
    """Fetch what the operands name, by the table."""
    tool = _FETCHERS.get(inv.name) or _FETCHERS["yt-dlp"]
    values = (*tool.values, *tool.target, *tool.directory, *tool.runs, *tool.runs_program, *tool.reads)
    opts = parse(inv.args, values=values, bundle=tool is not _FETCHERS["lynx"])
    if informs(opts):
        return
    for path in opts.values(*tool.reads):
        low.read(path)
    for code in opts.values(*tool.runs):
        low.shell(code, via=inv.name)
    for program in opts.values(*tool.runs_program):
        low.run((program,), via=inv.name)
    answer = joined([_page(tool, low, url) for url in opts.operands]) if opts.operands else REMOTE
    send_words(low, url_of(opts.word(0)).host, *opts.operands)
    if inv.stdin is not None and "secret" in inv.stdin.taints:
        send(low, url_of(opts.word(0)).host, inv.stdin)
    for path in opts.values(*tool.target):
        if path.text != "-":
            low.write(path, answer)
    if not opts.has(*tool.target) and tool.directory:
        for url in opts.operands:
            if name := url_of(url.text).name:
                low.write(Word(f"./{name}", url.span), answer)
    if tool.prints:
        low.output(answer)
