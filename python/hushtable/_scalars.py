"""Values of NumPy and pandas as those of Python, without a change that nobody sees."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

from ._exceptions import ArgumentError
from ._types import Scalar

KINDS = "None, bool, int, float, Decimal, str, date or datetime"

MISSING = "give None for a value that is missing"


def plain(what: str, value: Any) -> Scalar:
    """The value, of Python's own types: a subclass may print otherwise, and a scalar of NumPy too.

    Raises TypeError where there is none, `ArgumentError` where it would be another value. `what`
    names it in these.
    """
    if hasattr(value, "dtype") and hasattr(value, "item"):
        return _of_numpy(what, value)
    if value is None or isinstance(value, (bool, decimal.Decimal)):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, datetime.datetime):
        # pandas.NaT, which equals nothing.
        if value != value:
            raise ArgumentError(f"{what} is not a time", None, MISSING)
        if getattr(value, "nanosecond", 0):
            raise ArgumentError(f"{what} has nanoseconds", None, "round it to microseconds")
        convert = getattr(value, "to_pydatetime", None)
        return value if convert is None else convert()
    if isinstance(value, datetime.date):
        return value
    raise TypeError(f"{what} is a {type(value).__name__}: give {KINDS}")


def _of_numpy(what: str, value: Any) -> Scalar:
    kind = getattr(value.dtype, "kind", None)
    if getattr(value, "ndim", None) != 0 or kind not in ("b", "i", "u", "f", "U", "M"):
        raise TypeError(f"{what} is a {type(value).__name__}: give {KINDS}")
    if kind == "M":
        if value != value:
            raise ArgumentError(f"{what} is not a time", None, MISSING)
        item = value.item()
        if isinstance(item, int):
            # Nanoseconds and finer units come as a number.
            rounded = value.astype("datetime64[us]")
            if rounded != value:
                raise ArgumentError(f"{what} has nanoseconds", None, "round it to microseconds")
            item = rounded.item()
    else:
        item = value.item()
    # Long doubles stay those of NumPy, and times beyond the year 9999 are numbers.
    if hasattr(item, "dtype") or (kind == "M" and not isinstance(item, datetime.date)):
        raise TypeError(f"{what} is a {type(value).__name__}: give {KINDS}")
    return plain(what, item)
