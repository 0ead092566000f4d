"""Numbers as words of the command line that computes with them."""

from __future__ import annotations

import decimal
import json
from collections.abc import Iterable
from typing import Any, Union

from ._exceptions import ArgumentError
from ._hushtable import computed
from ._scalars import plain

#: A number. A float stands for its shortest digits: 0.1 is one tenth.
Number = Union[int, float, decimal.Decimal]


def text(name: str, value: Number) -> str:
    """The number in digits. Raises TypeError where it is none; `name` names it there."""
    value = plain(name, value)  # type: ignore[assignment]
    if isinstance(value, bool) or not isinstance(value, (int, float, decimal.Decimal)):
        raise TypeError(f"{name} is a {type(value).__name__}: give an int, a float or a Decimal")
    return format(value, "f") if isinstance(value, decimal.Decimal) else repr(value)


def option(name: str, value: Number | None) -> list[str]:
    """The option of that name, or nothing where there is no value."""
    return [] if value is None else [f"--{name.replace('_', '-')}={text(name, value)}"]


def listed(name: str, values: Number | Iterable[Number] | None) -> list[str]:
    """The option of that name with a number or several."""
    if values is None:
        return []
    several = values if isinstance(values, Iterable) else [values]
    joined = ",".join(text(name, value) for value in several)
    return [f"--{name.replace('_', '-')}={joined}"]


def word(name: str, value: str, words: tuple[str, ...]) -> str:
    """One of the words. Raises `ArgumentError` where it is another."""
    if value in words:
        return value
    raise ArgumentError(f"{name} = {value!r} is not valid", None, f"use one of {', '.join(words)}")


def result_of(example: str, *words: list[str]) -> Any:
    """The result of a calculation."""
    return json.loads(computed([word for part in words for word in part], example))


def one_of(example: str, **given: object) -> None:
    """Raises `ArgumentError` unless one of the arguments is given, and no more than one."""
    if sum(value is not None for value in given.values()) != 1:
        *all_but_last, last = given
        what = f"one of {', '.join(all_but_last)} and {last} is needed, and no more than one"
        raise ArgumentError(what, None, f"for example {example}")
