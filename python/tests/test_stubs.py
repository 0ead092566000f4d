"""Docstrings: whatever is public has one, and the stubs have those of the module."""

from __future__ import annotations

import inspect
from pathlib import Path

import hushtable as ht
from hushtable import assess, calc, dbapi
from stubs import with_docstrings


def test_docstrings_are_written_once() -> None:
    text = (Path(ht.__file__).parent / "_hushtable.pyi").read_text()
    assert with_docstrings(text) == text, "run python python/tests/stubs.py"


def test_what_is_public_has_a_docstring() -> None:
    for module in (ht, assess, calc, dbapi):
        assert module.__doc__
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) and value.__module__.startswith("hushtable"):
                # Of the class itself, and no other's.
                assert value.__dict__.get("__doc__"), name
                for method, described in vars(value).items():
                    if not method.startswith("_") and callable(described):
                        assert described.__doc__, f"{name}.{method}"
            elif inspect.isfunction(value):
                assert value.__doc__, name
