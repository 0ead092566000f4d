"""The stubs of the part that is written in Rust, with its docstrings.

The docstrings are written once, in `crates/python`. `python python/tests/stubs.py` puts them into
the stubs; a test compares the two.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from pathlib import Path

import hushtable._hushtable as module

#: Characters of a line.
WIDTH = 100


def docstring(text: str, indent: int) -> str:
    """The docstring as it stands in a file, indented by a number of blanks."""
    paragraphs = [" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n")]
    margin = " " * indent
    # The quotes that begin it and those that end it need room.
    lines = textwrap.wrap('"""' + paragraphs[0], WIDTH - indent, break_on_hyphens=False)
    for paragraph in paragraphs[1:]:
        lines += ["", *textwrap.wrap(paragraph, WIDTH - indent, break_on_hyphens=False)]
    if len(paragraphs) == 1 and len(lines[-1]) + 3 > WIDTH - indent:
        *before, last = lines[-1].rsplit(" ", 1)
        lines[-1:] = [*before, last]
    lines[-1:] = [lines[-1], '"""'] if len(paragraphs) > 1 else [lines[-1] + '"""']
    return "\n".join(margin + line if line else "" for line in lines)


def with_docstrings(stubs: str) -> str:
    """The stubs, with the docstrings of what they describe."""
    lines: list[str | None] = list(stubs.splitlines())

    def visit(nodes: list[ast.stmt], owner: object) -> None:
        for node in nodes:
            if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                continue
            described = getattr(owner, node.name)
            first = node.body[0]
            if ast.get_docstring(node) is not None:
                text = described.__doc__
                assert text, f"{node.name} has no docstring"
                start, end = first.lineno - 1, first.end_lineno or first.lineno
                lines[start] = docstring(text, first.col_offset)
                lines[start + 1 : end] = [None] * (end - start - 1)
            if isinstance(node, ast.ClassDef):
                visit(node.body, described)

    visit(ast.parse(stubs).body, module)
    return "\n".join(line for line in lines if line is not None) + "\n"


if __name__ == "__main__":
    path = Path(__file__).parent.parent / "hushtable" / "_hushtable.pyi"
    path.write_text(with_docstrings(path.read_text()))
