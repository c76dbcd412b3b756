"""One expression, checked and compiled: what it is called with, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from interpose.rules.cel.ast import Ident, Node, UnsupportedError, walk
from interpose.rules.cel.checker import TOO_DEEP, Checked, ExpressionError, check
from interpose.rules.cel.compiler import DEADLINE, MAX_STEPS, STEPS, Closure, Scope, close
from interpose.rules.cel.read_checks import CheckError, Facts, check_reads
from interpose.rules.cel.runtime_values import EvaluationError
from interpose.rules.cel.variable_shapes import Shape

Check = Callable[[str, Mapping[str, str]], Checked]
"""What checks a text over variables of these types."""


class Expression(Struct, frozen=True):
    """A compiled expression. `variables` are those that it reads."""

    text: str
    variables: frozenset[str]
    closure: Closure
    root: Node | None
    """Its syntax; None for one that is compiled when it is first asked."""

    def value(self, scope: Scope) -> object:
        """Its value for a call. Raises EvaluationError and nothing else."""
        scope[STEPS], scope[DEADLINE] = MAX_STEPS, None
        try:
            return self.closure(scope)
        except EvaluationError:
            raise
        except RecursionError:
            raise EvaluationError("the values are nested too deeply") from None
        except Exception as error:  # noqa: BLE001 - values of an embedding program's own classes may raise anything
            raise EvaluationError(f"{type(error).__name__}: {error}"[:200]) from None

    def holds(self, scope: Scope) -> bool:
        """Whether the condition is true. INVARIANT: only True is true; whatever is no bool is an error."""
        value = self.value(scope)
        if value is True or value is False:
            return value
        raise EvaluationError(f"expected true or false, got {type(value).__name__}")


def late_condition(text: str, variables: frozenset[str], make: Callable[[], Expression]) -> Expression:
    """A condition that is known to be one, and compiled when it is first asked. What fails then is an error of it."""
    made: list[Closure] = []

    def closure(scope: Scope) -> object:
        if not made:
            made.append(make().closure)
        return made[0](scope)

    return Expression(text, variables, closure, None)


def made_of(text: str, root: Node) -> Expression:
    """An expression whose syntax was made of another language's text. Its functions and variables are those of CEL."""
    read = frozenset(node.name for node in walk(root) if isinstance(node, Ident))
    return Expression(text, read, close(root), root)


def condition(
    text: str, shapes: Mapping[str, Shape], always: Facts, *, lenient: bool = False, check: Check = check
) -> Expression:
    """A compiled condition. `lenient` leaves out the checks of what may be missing. Raises ExpressionError."""
    checked = check(text, {name: shape.type for name, shape in shapes.items()})
    if checked.type != "BOOL":
        raise ExpressionError(f"expected a condition that is true or false, this gives {checked.type}")
    return _compiled(checked, shapes, always, lenient=lenient)


def value_of(text: str, shapes: Mapping[str, Shape], always: Facts, *, check: Check = check) -> Expression:
    """A compiled expression of any type. Raises ExpressionError."""
    return _compiled(check(text, {name: shape.type for name, shape in shapes.items()}), shapes, always, lenient=False)


def _compiled(
    checked: Checked, shapes: Mapping[str, Shape], always: Iterable[tuple[str, ...]], *, lenient: bool
) -> Expression:
    root = checked.syntax.root
    try:
        if not lenient:
            check_reads(root, shapes, frozenset(always))
        closure = close(root)
        read = frozenset(node.name for node in walk(root) if isinstance(node, Ident) and node.name in shapes)
    except (CheckError, UnsupportedError) as error:
        raise checked.error_at(error.id, str(error)) from None
    except RecursionError:
        raise ExpressionError(TOO_DEEP) from None
    return Expression(checked.text, read, closure, root)
