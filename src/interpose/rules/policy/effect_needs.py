"""What the effects of a call must have for a condition to hold at all, read from its syntax.

Most rules are about one kind of effect, and most calls have none of it: such a rule need not be evaluated. Only what
can be proved counts. `false && error` is false in CEL, and so is `exists` where every turn is false; so a condition
whose need is not met is false, whatever its other parts would say.
"""

from __future__ import annotations

from msgspec import Struct

from interpose.rules.cel.ast import Const, FieldSelect, Fold, FunctionCall, Ident, MakeList, Node

FIELDS = ("kind", "rule")
"""The fields of an effect that conditions compare with fixed words."""

Words = frozenset[str] | None
"""The words of which a field must be one; None is any."""


class Need(Struct, frozen=True):
    """One effect with these words."""

    kind: Words = None
    rule: Words = None

    def met(self, kinds: frozenset[str], rules: frozenset[str]) -> bool:
        """Whether a call whose effects have these words can meet it."""
        return (self.kind is None or not self.kind.isdisjoint(kinds)) and (
            self.rule is None or not self.rule.isdisjoint(rules)
        )


Needs = tuple[Need, ...] | None
"""Needs of which one must be met; None if nothing is known."""


def needs_of(node: Node) -> Needs:
    """What a condition needs of the effects of a call."""
    match node:
        case FunctionCall(function="_||_", args=(left, right)):
            first, second = needs_of(left), needs_of(right)
            return None if first is None or second is None else first + second
        case FunctionCall(function="_&&_", args=(left, right)):
            first = needs_of(left)
            return needs_of(right) if first is None else first
        case Fold(over=Ident(name="effects"), start=Const(value=False), step=FunctionCall(function="_||_", args=args)):
            return _of_exists(node, args)
        case _:
            return None


def _of_exists(fold: Fold, args: tuple[Node, ...]) -> Needs:
    if len(args) != 2 or not _is(args[0], fold.result_name) or not _is(fold.result, fold.result_name):
        return None
    need = Need(*(_words(args[1], fold.variable, field) for field in FIELDS))
    return None if need == Need() else (need,)


def _is(node: Node, name: str) -> bool:
    return isinstance(node, Ident) and node.name == name


def _words(node: Node, variable: str, field: str) -> Words:
    """The words of which `variable.field` must be one if this is true."""
    match node:
        case FunctionCall(function="_&&_", args=(left, right)):
            first, second = _words(left, variable, field), _words(right, variable, field)
            return first & second if first is not None and second is not None else first if second is None else second
        case FunctionCall(function="_||_", args=(left, right)):
            first, second = _words(left, variable, field), _words(right, variable, field)
            return None if first is None or second is None else first | second
        case FunctionCall(
            function="_==_",
            args=(FieldSelect(operand=Ident(name=name), field=read, test=False), Const(value=str(word))),
        ):
            return frozenset({word}) if (name, read) == (variable, field) else None
        case FunctionCall(
            function="@in", args=(FieldSelect(operand=Ident(name=name), field=read, test=False), MakeList(items=items))
        ):
            words = [item.value for item in items if isinstance(item, Const) and isinstance(item.value, str)]
            return frozenset(words) if (name, read) == (variable, field) and len(words) == len(items) else None
        case _:
            return None
