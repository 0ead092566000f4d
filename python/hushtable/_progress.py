"""How far a question is, on terminals and in notebooks, for questions that take long."""

from __future__ import annotations

import importlib
import sys
import threading
from typing import Any

#: Characters of a bar.
WIDTH = 32


class Bar:
    """A bar that is drawn again and again, and leaves nothing behind."""

    def __init__(self) -> None:
        self._page: Any = None
        self._on_terminal = False
        # Other threads draw nothing: several bars would be drawn over each other.
        if threading.current_thread() is not threading.main_thread():
            return
        if _in_notebook():
            display = _display()
            self._page = display.display(display.HTML(""), display_id=True)
        else:
            self._on_terminal = sys.stderr is not None and sys.stderr.isatty()

    def draw(self, done: float) -> None:
        """Draws the share that is done, from 0 to 1."""
        if self._page is not None:
            bar = f'<progress value="{done:.3f}" max="1"></progress>'
            self._page.update(_display().HTML(f"{bar} {done:.0%}"))
        elif self._on_terminal:
            full = round(done * WIDTH)
            bar = "█" * full + "░" * (WIDTH - full)
            print(f"\rreading {bar} {done:4.0%}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Leaves an empty line."""
        if self._page is not None:
            self._page.update(_display().HTML(""))
        elif self._on_terminal:
            print("\r" + " " * (WIDTH + 13) + "\r", end="", file=sys.stderr, flush=True)


def _display() -> Any:
    """IPython's module for what notebooks show."""
    return importlib.import_module("IPython.display")


def _in_notebook() -> bool:
    """Whether this is a kernel of Jupyter."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")
