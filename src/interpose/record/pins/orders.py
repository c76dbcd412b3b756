"""Orders to the model in what a server says of its tools: a description describes, it does not command.

Bounded: texts are limited before they are read, each pattern begins with words that it needs, and looks no further than
a bounded stretch around them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from functools import cache

from msgspec import Struct

from interpose.record.pins.hidden_text import without_hidden
from interpose.record.pins.lookalikes import latin


def _any(texts: str) -> str:
    return f"(?:{'|'.join(text.strip() for text in texts.split(','))})"


_NOT = _any("do not, don't, dont, never, must not, mustn't, should not, shouldn't, without, avoid, no need to")
_TELL = _any(
    "tell(?:ing)?, mention(?:ing)?, inform(?:ing)?, reveal(?:ing)?, disclos(?:e|ing), notify(?:ing)?, alert(?:ing)?, "
    "warn(?:ing)?, show(?:ing)?, let(?:ting)?, explain(?:ing)?, say, report(?:ing)?"
)
_USER = rf"(?:the |your |any |our )?{_any('users?, humans?, person, people, operator, developer, anyone, anybody')}\b"
_EARLIER = _any("previous, prior, above, earlier, preceding, existing, other, original, system, safety, your, all")
_RULES = _any(
    "instructions?, rules?, prompts?, messages?, guidelines?, directions?, constraints?, polic(?:y|ies), restrictions?"
)
_SECRETS = _any(
    r"\.ssh\b, \.aws\b, \.gnupg\b, \.kube/, \.docker/, \.netrc\b, \.npmrc\b, \.pypirc\b, \.git-credentials\b,"
    r" \.pgpass\b, \.(?:bash|zsh)_history\b, \bid_(?:rsa|ed25519|ecdsa)\b, /etc/(?:passwd|shadow|sudoers)\b,"
    r" (?<![\w/])\.env\b, \bmcp\.json\b, \bclaude_desktop_config\.json\b, \.claude\.json\b, \bwallet\.dat\b,"
    r" /proc/self/environ, \.config/(?:gh|gcloud)\b, \.azure/, \.vault-token\b"
)
_TAKE = _any(
    "read(?:ing)?, cat, open(?:ing)?, load(?:ing)?, fetch(?:ing)?, access, get, include, attach, send, pass, provide, "
    "upload, copy, paste, append, retrieve, contents? of, check, look (?:at|in|into), extract"
)
_SEND = _any(
    "send, post, upload, forward, exfiltrate, transmit, leak, dump, include, append, attach, pass, paste, copy, embed, "
    "encode, add, put"
)
_HONEST = (
    r"\b"
    + _any(
        r"never, not, no, cannot, refus\w+, block\w*, den(?:y|ies|ied), except, exclud\w+, ignor\w+, skip\w*, unless, "
        r"detect\w*, protect\w*, prevent\w*, without, instead of, scan\w*, find\w*"
    )
    + r"\b|n't\b"
)
_KNOWN = _any(
    "conversations?, chat history, chat log, message history, system prompt, environment variables, private keys?, "
    "ssh keys?, api keys?, access tokens?, credentials, passwords, secrets"
)
_PLACE = (
    r"(?:to https?:|to this (?:tool|server|endpoint)|to the following|"
    r"(?:as|in|into|via|through) (?:the |this |a |an )?[\w'\"-]{0,30} ?"
    r"(?:parameter|argument|field|note|sidenote|metadata|param|arg)\b)"
)


class Phrase(Struct, frozen=True):
    """One way to command. `pattern` are words that it needs; `before` and `after` stand in the same sentence, shortly
    before or after them; `unless` is what honest texts have there."""

    what: str
    pattern: str
    before: str = ""
    after: str = ""
    unless: str = ""


_ASIDE = "it tells the model to set its instructions aside"
_KEPT = "it wants something kept from the user"
_MARKS = "it speaks to the model in marks of a prompt"
_ASKED = "it asks for what the model knows and the tool does not need"
_CLAIMS = "it claims a permission that only the user can give"
_OTHERS = "it changes what other tools are to do"

ORDERS: tuple[Phrase, ...] = (
    Phrase(_ASIDE, rf"\b{_EARLIER} (?:\w+ ){{0,2}}{_RULES}\b",
          before=r"\b(?:ignore|disregard|forget|override|bypass|overrule)\b(?: \w+){0,3} ?$", unless=r"\bnot\b|n't\b"),
    Phrase(_ASIDE, r"\b(?:new|updated|real|actual|secret|hidden) (?:system )?(?:instructions?|directives?|prompt) ?:"),
    Phrase(_ASIDE, r"\bfrom now on,? (?:you|always|never|the assistant)\b"),
    Phrase(_ASIDE, r"\byour (?:new|real|true|actual) (?:task|role|goal|purpose|objective|job)\b"),
    Phrase(_ASIDE, r"\byou are now (?:a|an|in|the|dan)\b"),
    Phrase(_KEPT, rf"\b{_TELL}\b(?: [\w']+){{0,5}} {_USER}", before=rf"\b{_NOT}(?: \w+){{0,2}} ?$"),
    Phrase(_KEPT, rf"\bfrom {_USER}", before=r"\b(?:hide|hidden|conceal|keep|kept|secret|secretly|invisible)\b"),
    Phrase(_KEPT, rf"{_USER} (?:must|should|shall|may|will|does|do)(?: not|n't| never) (?:need to )?"
                 r"(?:know|see|notice|find out|be (?:told|informed|notified|aware|made aware))\b"),
    Phrase(_KEPT, r"\bmention(?:ing)? (?:this|that|it|these|the (?:above|file|step|instruction))\b",
          before=rf"\b{_NOT} ?$"),
    Phrase(_KEPT, r"\bkeep (?:this|it|these(?: \w+)?) (?:a )?(?:secret|hidden|confidential|to yourself)\b"),
    Phrase(_MARKS, r"</?(?:important|system|sys|instructions?|critical|secret|hidden|admin|override|assistant|"
                   r"developer)(?: [^<>]{0,80})?>"),
    Phrase(_MARKS, r"<\|(?:im_start|im_end|system|user|assistant|endoftext)|\[/?inst\]|<</?sys>>"),
    Phrase(_MARKS, r"\[system\]|\bsystem override\b|\bsystem note (?:to|for) (?:the )?(?:ai|model|assistant|agent)\b"),
    Phrase("it sends the model to a file of secrets", _SECRETS, before=rf"\b{_TAKE}\b", unless=_HONEST),
    Phrase(_ASKED, rf"\b{_KNOWN}\b", before=rf"\b{_SEND}\b", after=_PLACE, unless=_HONEST),
    Phrase(_ASKED, r"\b(?:(?:whole|entire|full|complete) (?:conversation|chat|context window)|chat history|"
                  r"system prompt|previous instructions)\b",
          before=r"\b(?:include|send|pass|provide|put|insert|paste|repeat|reveal|output|share)\b", unless=_HONEST),
    Phrase(_CLAIMS, r"\b(?:user|human|operator|admin|administrator)s? (?:has|have|had) (?:already )?(?:pre-?)?"
                   r"(?:approved|authori[sz]ed|consented|agreed|granted|given (?:permission|consent|approval))\b",
          unless=r"\b(?:if|whether|unless|until|once|after|ensure|verify|check|when|only|that)\b"),
    Phrase(_CLAIMS, r"\b(?:ask|prompt|wait for|request|consult)(?:ing)? (?:the )?(?:user|human|person|operator)"
                    r"(?:'s)?(?: \w+){0,3} (?:confirmation|permission|approval|consent|confirm|agree)\b",
           before=r"\b(?:do not|don't|never|no need to|without) ?$"),
    Phrase(_OTHERS, r"\b(?:send|forward|bcc|cc|copy|redirect) (?:all|every|any|each) (?:outgoing |other )?(?:e-?mails?|"
                    r"messages?|requests?|data|results?|files?|calls?|payments?)\b", after=r"\b(?:to|via|through) \S*(?:@|://)"),
    Phrase(_OTHERS, r"\b(?:change|replace|redirect|rewrite|swap|set) (?:the |its )(?:recipient|address|destination|"
                   r"phone number|account|amount)\b", before=r"\bwhen(?:ever)?\b"),
    Phrase(_OTHERS, r"\bmcp__[a-z0-9_-]{1,64}__[a-z0-9_-]+"),
)  # fmt: skip

_COMMANDS = re.compile(
    r"\b(?:must|always|never|instead|do not|don't|required|mandatory|before|whenever|every time|first|change|replace|"
    r"override|rather than)\b"
)
_AROUND = 100
_MOST_FINDS = 200
"""Places of a text at which one pattern is looked at. Who repeats words without end hides nothing by it: the first
places count."""
_LIKE_A_NAME = re.compile(r"[A-Za-z0-9]+(?:[_.-][A-Za-z0-9]+)+|[a-z0-9]+(?:[A-Z][a-z0-9]+)+")
_WORD = re.compile(r"[\w.-]+")
_BLANKS = re.compile(r"\s+")
_SENTENCE = re.compile(r"[!?]|\.(?=\s|$)")


class _Compiled(Struct, frozen=True):
    what: str
    pattern: re.Pattern[str]
    before: re.Pattern[str] | None
    after: re.Pattern[str] | None
    unless: re.Pattern[str] | None

    def found(self, read: str) -> str:
        """The words in which this is commanded; empty if it is not."""
        for number, match in enumerate(self.pattern.finditer(read)):
            if number == _MOST_FINDS:
                return match.group()  # nobody honest repeats such words so often
            before = _SENTENCE.split(read[max(0, match.start() - _AROUND) : match.start()])[-1]
            after = _SENTENCE.split(read[match.end() : match.end() + _AROUND])[0]
            said = before + match.group()
            if self.before is not None and not self.before.search(before):
                continue
            if self.after is not None and not self.after.search(after):
                continue
            if self.unless is not None and self.unless.search(said):
                continue
            return (before if self.before else "") + match.group() + (after if self.after else "")
        return ""


@cache
def _compiled() -> tuple[_Compiled, ...]:
    def maybe(pattern: str) -> re.Pattern[str] | None:
        return re.compile(pattern) if pattern else None

    return tuple(
        _Compiled(one.what, re.compile(one.pattern), maybe(one.before), maybe(one.after), maybe(one.unless))
        for one in ORDERS
    )


def orders_in(text: str, foreign: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """What a text commands, and the words in which it does. `foreign` are `telling_names` of other
    servers' tools."""
    read = as_read(text)
    said: set[str] = set()
    for order in _compiled():
        if order.what not in said and (words := order.found(read)):
            said.add(order.what)
            yield order.what, _shown(words)
    yield from _about_others(read, foreign)


def as_read(text: str) -> str:
    """A text as a model takes it: whatever its letters look like, without marks of emphasis, in one case."""
    plain = latin(unicodedata.normalize("NFKC", without_hidden(text)))
    return _BLANKS.sub(" ", plain.replace("*", "").replace("`", "").replace("\u2019", "'")).casefold()


def telling_names(names: Iterable[str]) -> frozenset[str]:
    """Those that are spelled as names. One that is a word of every language, as `search`, says nothing."""
    return frozenset(name.casefold() for name in names if _LIKE_A_NAME.fullmatch(name))


def _about_others(read: str, foreign: Collection[str]) -> Iterator[tuple[str, str]]:
    for word in _WORD.finditer(read) if foreign else ():
        if word.group().strip(".-") in foreign:
            around = read[max(0, word.start() - _AROUND) : word.end() + _AROUND]
            if _COMMANDS.search(around):
                yield "it says what to do with a tool of another server", _shown(around)
                return


def _shown(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 100 else f"{flat[:99]}…"
