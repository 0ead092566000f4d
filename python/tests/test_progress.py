"""Bars on terminals and in notebooks."""

from __future__ import annotations

import io
import sys
import threading
from types import SimpleNamespace

import pytest

from hushtable._progress import Bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_a_bar_that_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    bar = Bar()
    bar.draw(0.5)
    longest = len(terminal.getvalue())
    assert terminal.getvalue() == "\rreading " + "█" * 16 + "░" * 16 + "  50%"
    bar.clear()
    assert terminal.getvalue()[longest:].strip("\r") == " " * (longest - 1)


def test_files_and_other_threads_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    Bar().draw(0.5)
    assert file.getvalue() == ""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    other = threading.Thread(target=lambda: Bar().draw(0.5))
    other.start()
    other.join()
    assert terminal.getvalue() == ""


def test_a_notebook_has_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    pages: list[str] = []
    page = SimpleNamespace(update=pages.append)
    shell = SimpleNamespace(kernel=object())
    display = SimpleNamespace(HTML=str, display=lambda _, display_id: page)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    bar = Bar()
    bar.draw(0.25)
    bar.clear()
    assert pages == ['<progress value="0.250" max="1"></progress> 25%', ""]
