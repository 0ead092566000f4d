"""Questions that are awaited: they run on a thread of their own, without Python's lock."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from ._hushtable import Analyst, Progress, Quote, Release
from ._types import Question


async def sql(
    analyst: Analyst, sql: Question, params: Mapping[str, Any] | None, progress: Progress | None
) -> Release:
    """Awaits `analyst.sql`. Cancelled before the charge, it costs nothing."""
    watched = Progress() if progress is None else progress
    try:
        return await asyncio.to_thread(analyst.sql, sql, params=params, progress=watched)
    except asyncio.CancelledError:
        watched.give_up()
        raise


async def explain(analyst: Analyst, sql: Question, params: Mapping[str, Any] | None) -> Quote:
    """Awaits `analyst.explain`."""
    return await asyncio.to_thread(analyst.explain, sql, params=params)
