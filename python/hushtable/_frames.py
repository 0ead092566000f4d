"""Frames as Arrow: by the interface that they have, or by narwhals."""

from __future__ import annotations

from typing import Any

from ._exceptions import DataError


def arrow(name: str, frame: Any) -> Any:
    """Returns an object with Arrow's PyCapsule interface for the frame of the table `name`.

    Raises TypeError where there is no way to one.
    """
    if hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__arrow_c_array__"):
        return frame
    try:
        import narwhals
    except ImportError:
        native = None
    else:
        native = narwhals.from_native(frame, pass_through=True)
        if native is frame:
            native = None
    if native is not None:
        return _computed(name, native)
    kind = f"{type(frame).__module__}.{type(frame).__qualname__}"
    raise TypeError(
        f"the table `{name}` is a {kind}, which has no Arrow interface: give a frame of pandas "
        "(2.2 or later), Polars, pyarrow or DuckDB, or install narwhals for others"
    )


def _computed(name: str, native: Any) -> Any:
    """The frame of narwhals as Arrow. A lazy one is computed, by a package whose errors may quote
    values: they end here, without a trace."""
    try:
        return (native.collect() if hasattr(native, "collect") else native).to_arrow()
    except MemoryError:
        raise
    except ImportError:
        hint = "pip install pyarrow"
    except Exception:
        hint = "look at its package's own message: compute it before it is handed in"
    # Outside, so that the other exception is not its context.
    raise DataError(f"the frame of the table `{name}` cannot be computed", None, hint)
