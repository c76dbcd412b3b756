"""The error tree, the texts of the interceptor errors, and reading the text of an error that fights back."""

from __future__ import annotations

import re

import pytest

from interpose.core import errors
from interpose.core.errors import (
    BlockedError,
    ExecutionFailedError,
    InterceptError,
    InterposeError,
    InvalidModificationError,
    name_of,
    text_of,
)
from tests.support.hostile import ERRORS


def test_every_error_is_drawn_in_the_docstring() -> None:
    tree = set(re.findall(r"\b(\w+Error)\b", errors.__doc__ or ""))
    classes = {
        name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, InterposeError)
    }
    assert tree == classes


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ExecutionFailedError("x"), "Interceptor execution failed: x"),
        (InvalidModificationError("x"), "Invalid input modification: x"),
        (InterceptError("x"), "Interceptor error: x"),
    ],
)
def test_the_texts_of_the_three_kinds(error: InterceptError, text: str) -> None:
    assert str(error) == text


def test_a_blocked_error_carries_the_answer_that_the_agent_would_get() -> None:
    response = {"status": "blocked", "tool": "exec", "reason": "no"}
    error = BlockedError(response)
    assert str(error) == "exec was blocked: no"
    assert error.response is response


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ValueError", "bad value"),
        ("silent", "SilentError"),
        ("broken __str__", "BrokenTextError"),
        ("__str__ of a number", "NoTextError"),
        ("evil text", "evil"),
        ("hostile metaclass", "FacelessError"),
        ("nameless", "nameless"),
    ],
)
def test_the_text_of_any_error_is_a_plain_text_that_is_not_empty(name: str, text: str) -> None:
    found = text_of(ERRORS[name]())
    assert type(found) is str
    assert found == text


def test_the_name_of_a_type_is_read_past_its_metaclass() -> None:
    assert name_of(ERRORS["hostile metaclass"]()) == "FacelessError"
