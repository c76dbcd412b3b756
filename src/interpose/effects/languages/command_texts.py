"""Texts in which commands stand: build files, playbooks, manifests, and sources of languages that nobody here reads.

Their grammar is not followed. What stands in them like a command line is looked at as one, and counts only where it
would be a catastrophe: the rest of such a text is data, or the honest work of a build.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from interpose.effects.invocation import Lowering, Word
from interpose.effects.languages.tokens import ProgramToken, TokenRules, tokens

_SYNTAX = TokenRules(comments=(), backticks=True, holes=())
MAX_TEXTS = 64
_LONGEST = 4096
_BARE = re.compile(
    r"(?<![\w./-])(?:/(?:usr/)?s?bin/)?(?:rm|shred|dd|mkfs[.\w]{0,8}|wipefs|chmod|chown|find|mv|sudo|curl|wget|ba?sh|"
    r"nc|ncat|git|kubectl|python3?|perl|node|scp|rsync|crontab|truncate|tee|eval)[ \t]+[^\n\"'`]{1,4096}"
)
_TREES = re.compile(
    r"(?:REMOVE_RECURSE[\s\"']{1,8}|<delete\b[^>]{0,200}?\bdir[ \t]{0,8}=[ \t]{0,8}[\"']|remove_dir_all\([ \t]{0,8}\"|"
    r"RemoveAll\([ \t]{0,8}\"|deleteDirectory\((?:new File\()?[ \t]{0,8}\"|deleteRecursively\([ \t]{0,8}\"|"
    r"remove_all\([ \t]{0,8}\"|removeItem\(atPath:[ \t]{0,8}\")([^\s\"')>]{1,4096})"
)
"""Deleting a tree in the words of CMake, Ant, Rust, Go, Java, C++ and Swift."""
_EXECUTABLE = re.compile(r"\bexecutable[ \t]{0,8}=[ \t]{0,8}\"([^\"]{1,200})\"([^\n]{0,2000})")
_ARGUMENT = re.compile(r"\b(?:line|value)[ \t]{0,8}=[ \t]{0,8}\"([^\"]{0,2000})\"")
"""A program of Ant with its arguments."""
_ABSENT = re.compile(r"(?:ensure|state)[\"']?\s{0,8}(?:=>|[:=])\s{0,8}[\"']?absent\b")
_RESOURCE = re.compile(
    r"(?:\bfile\s{0,8}\{\s{0,8}[\"']|\b(?:path|dest)[\"']?\s{0,8}[:=]\s{0,8}[\"']?)(/[^\s\"',}]{0,4096})"
)
"""A file of Puppet or Ansible, which is taken away where `absent` is said."""


def lower(code: str, low: Lowering, via: str) -> None:
    """Look at every part of a text that reads like a command line."""
    for _, text in zip(range(MAX_TEXTS), _command_lines(code), strict=False):
        low.suspect(text, via=via, certain=True)
    for tree in _TREES.findall(code)[:MAX_TEXTS]:
        low.delete(Word(tree), recursive=True)
    if _ABSENT.search(code):
        for path in _RESOURCE.findall(code)[:MAX_TEXTS]:
            low.delete(Word(path), recursive=True)


def package(code: str, low: Lowering, via: str) -> None:
    """The scripts of a `package.json`, `composer.json` or `deno.json`: any of them, the others call each other."""
    try:
        scripts = json.loads(code)
        found = [scripts.get(key) for key in ("scripts", "tasks")] if isinstance(scripts, dict) else []
    except (ValueError, RecursionError):
        lower(code, low, via)
        return
    for _, text in zip(range(MAX_TEXTS), _texts(found), strict=False):
        low.suspect(text, via=via, certain=True)


_READ = re.compile(r"\b(?:file|filebase64|templatefile|filemd5|filesha256)\([ \t]{0,8}\"([^\"]{1,4096})\"")


def hcl(code: str, low: Lowering, _via: str) -> None:
    """Expressions for the console of Terraform, which read files and print what is in them."""
    for path in _READ.findall(code)[:MAX_TEXTS]:
        low.read(Word(path))


_HOST_MOUNT = re.compile(
    r"hostPath[\"']?\s{0,8}:\s{0,8}\{?\s{0,64}[\"']?path[\"']?\s{0,8}:\s{0,8}[\"']?(?:/|/etc|/root|/home|/var/run/docker\.sock)"
    r"[\"']?\s{0,8}(?:[,}\n]|$)|"
    r"(?:^|[\s\"'\[-])(?:/|/etc|/root|/home)/?:/[^\s\"']|"
    r"source[\"']?\s{0,8}:\s{0,8}[\"']?(?:/|/etc|/root|/home)[\"']?\s{0,8}(?:[,}\n]|$)"
)


def manifest(code: str, low: Lowering, via: str) -> None:
    """What a cluster or a composition of containers is told to run: only what reaches the machine below matters."""
    if _HOST_MOUNT.search(code):
        low.emit("privilege", via, grants=True, rule="host-mount",
                 reason="The container gets the file system of the machine that it runs on")  # fmt: skip


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _command_lines(code: str) -> Iterator[str]:
    for words in _listed(tokens(code, _SYNTAX)):
        for text in words:
            if " " in text.strip() and len(text) <= _LONGEST:
                yield text
        if len(words) > 1:
            yield " ".join(words[:MAX_TEXTS])
            yield " ".join(words[1:MAX_TEXTS])  # `execlp("rm", "rm", "-rf", ...)`: the first is the program's own name
    for program, rest in _EXECUTABLE.findall(code)[:MAX_TEXTS]:
        yield " ".join((program, *_ARGUMENT.findall(rest)))
    for match in _BARE.finditer(code):
        yield _closed(match.group())


def _listed(found: list[ProgramToken]) -> Iterator[list[str]]:
    """Strings that stand in one list or call, a comma between each."""
    words: list[str] = []
    for token in found:
        if token.kind in ("string", "command"):
            words.append(token.text)
        elif token.text not in (",", "\n") and words:
            yield words
            words = []
    if words:
        yield words


def _closed(text: str) -> str:
    """A text without what follows a bracket that it did not open."""
    depth = 0
    for index, char in enumerate(text):
        if char in "([{<":
            depth += 1
        elif char in ")]}>":
            depth -= 1
            if depth < 0 and not (char == ">" and text[index - 1].isspace()):
                return text[:index]
    return text
