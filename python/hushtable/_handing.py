"""Tables and charts for other packages, which are imported when they are needed."""

from __future__ import annotations

from typing import Any


def to_arrow(table: Any) -> Any:
    """The table as a `pyarrow.Table`."""
    import pyarrow

    return pyarrow.table(table)


def to_polars(table: Any) -> Any:
    """The table as a `polars.DataFrame`."""
    import polars

    return polars.DataFrame(table)


def to_pandas(table: Any) -> Any:
    """The table as a `pandas.DataFrame`."""
    import pandas

    # Since pandas 3.0.
    from_arrow = getattr(pandas.DataFrame, "from_arrow", None)
    return to_arrow(table).to_pandas() if from_arrow is None else from_arrow(table)


class Plot(dict[str, Any]):
    """A chart as a specification of Vega-Lite, from `Release.plot`.

    Jupyter shows it. `svg` is the image that the command draws, as text.
    """

    svg: str

    def __init__(self, specification: dict[str, Any], svg: str) -> None:
        super().__init__(specification)
        self.svg = svg

    def to_altair(self) -> Any:
        """The chart as one of Altair, which must be installed."""
        import altair

        return altair.LayerChart.from_dict(dict(self))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {
            "application/vnd.vegalite.v5+json": dict(self),
            "image/svg+xml": self.svg,
            "text/plain": f"<hushtable.Plot: {self.get('title', '')}>",
        }
