"""How commands read their arguments: getopt's rules, once for all families."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct

from interpose.effects.invocation import Word


class Options(Struct, frozen=True):
    """Arguments sorted into options and operands. Names keep their dashes; aliases are already folded."""

    given: tuple[tuple[str, Word | None], ...]
    operands: tuple[Word, ...]

    def has(self, *names: str) -> bool:
        """Whether any of these options was given."""
        return any(name in names for name, _ in self.given)

    def value(self, *names: str) -> Word | None:
        """The last value given to any of these options."""
        found = [value for name, value in self.given if name in names]
        return found[-1] if found else None

    def values(self, *names: str) -> tuple[Word, ...]:
        """All values given to any of these options, in order."""
        return tuple(value for name, value in self.given if name in names and value is not None)

    def word(self, index: int) -> str:
        """The text of an operand, or an empty text."""
        return self.operands[index].text if index < len(self.operands) else ""


def parse(
    args: Collection[Word],
    *,
    values: Collection[str] = (),
    aliases: Mapping[str, str] | None = None,
    long: Collection[str] = (),
    stop: bool = False,
    bundle: bool = True,
    plus: bool = False,
    attached: Collection[str] = (),
) -> Options:
    """Sort `args` by getopt's rules.

    `values`: options that take a value (`-o x`, `-ox`, `--out x`, `--out=x`); with an alias, name the folded option.
    `aliases`: other spellings of an option, folded into one (`{"--recursive": "-r", "-R": "-r"}`).
    `long`: further long options without a value, so that their unique abbreviations are understood too (getopt
    takes `--recur` for `--recursive`; names in `values` and `aliases` are known already).
    `stop`: operands end the options (`sudo`, `env`, `xargs`: what follows belongs to the inner command).
    `bundle`: `-rf` is `-r -f`; False for tools whose long options have one dash (`find`, `java`, `terraform`).
    `plus`: `+x` counts as an option too.
    `attached`: short options whose value is optional and never a word of its own (`xargs -i{}`).
    """
    aliases = aliases or {}
    names: set[str] | None = None
    given: list[tuple[str, Word | None]] = []
    operands: list[Word] = []
    queue = list(args)
    index = 0
    while index < len(queue):
        word = queue[index]
        text = word.text
        index += 1
        if text == "--":
            operands.extend(queue[index:])
            break
        if text.startswith("--") or (not bundle and len(text) > 1 and text[0] == "-"):
            name, equals, joined = text.partition("=")
            if names is None:
                names = {name for name in (*values, *aliases, *aliases.values(), *long) if name.startswith("--")}
            name = _complete(name, names)
            name = aliases.get(name, name)
            if equals:
                given.append((name, _part(word, joined)))
            elif name in values and index < len(queue):
                given.append((name, queue[index]))
                index += 1
            else:
                given.append((name, None))
        elif len(text) > 1 and (text[0] == "-" or (plus and text[0] == "+")):
            index = _bundle(word, queue, index, values, aliases, given, attached)
        else:
            operands.append(word)
            if stop:
                operands.extend(queue[index:])
                break
    return Options(tuple(given), tuple(operands))


def _bundle(
    word: Word,
    queue: list[Word],
    index: int,
    values: Collection[str],
    aliases: Mapping[str, str],
    given: list[tuple[str, Word | None]],
    attached: Collection[str],
) -> int:
    sign, letters = word.text[0], word.text[1:]
    for position, letter in enumerate(letters):
        name = aliases.get(sign + letter, sign + letter)
        if name not in values and name not in attached:
            given.append((name, None))
            continue
        rest = letters[position + 1 :]
        if rest or name in attached:
            given.append((name, _part(word, rest) if rest else None))
        elif index < len(queue):
            given.append((name, queue[index]))
            index += 1
        else:
            given.append((name, None))
        break
    return index


def _complete(name: str, names: set[str]) -> str:
    if name in names or len(name) < 4:
        return name
    matches = [known for known in names if known.startswith(name)]
    return matches[0] if len(matches) == 1 else name


def _part(word: Word, text: str) -> Word:
    return Word(text, word.span, word.glob, word.quoted, word.taints)
