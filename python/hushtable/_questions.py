"""Questions as expressions of ibis, which is imported when it is needed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from ._exceptions import Refused

#: The dialect of ibis whose SQL the engine reads: both follow GoogleSQL.
_DIALECT = "bigquery"

#: What ibis calls the types of a contract. Decimals have a scale, and as many digits as ibis has.
_TYPES = {
    "bool": "boolean",
    "int": "int64",
    "float": "float64",
    "string": "string",
    "date": "date",
    "timestamp": "timestamp",
}


def table(name: str, columns: Mapping[str, str]) -> Any:
    """A table as ibis knows it: the names and types of its columns, and no rows."""
    import ibis

    return ibis.table({column: _type(of) for column, of in columns.items()}, name=name)


def _type(of: str) -> str:
    scale = of.removeprefix("decimal(").removesuffix(")")
    return _TYPES.get(of) or f"decimal(38, {scale})"


def text(question: object) -> str:
    """The SQL of a question that is no text.

    Raises `Refused` where ibis has no SQL for it, TypeError where it is no expression of ibis.
    """
    ibis: Any = sys.modules.get("ibis")
    if ibis is None or not isinstance(question, ibis.Expr):
        kind = f"{type(question).__module__}.{type(question).__qualname__}"
        raise TypeError(f"a question is SQL in a str, or an expression of ibis, and not a {kind}")
    try:
        return str(ibis.to_sql(question, dialect=_DIALECT))
    except ibis.common.exceptions.IbisError as error:
        what = f"ibis has no SQL for this expression in the dialect {_DIALECT}: {error}"
    # Outside, so that the other exception is not its context.
    raise Refused(what, None, "ask it as SQL")
