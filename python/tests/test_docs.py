"""The Python of the documents and the tutorial runs, block after block."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import shutil
import warnings
from pathlib import Path

import pytest

ROOT = next(p for p in Path(__file__).resolve().parents if (p / "docs" / "python.md").exists())


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_the_python_of_a_page_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = ROOT / "examples" / "shop"
    for folder in (tmp_path, tmp_path / "examples" / "shop"):
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("hushtable.toml", "visits.csv"):
            shutil.copy(shop / name, folder / name)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.S | re.M)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        if "import ibis" not in block or importlib.util.find_spec("ibis") is not None:
            exec(compile(block, page, "exec"), names)
    assert "Protects" in capsys.readouterr().out


def test_pages_for_those_who_come_from_elsewhere_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("hushtable.toml", "visits.csv"):
        shutil.copy(ROOT / "examples" / "shop" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "coming-from.md").read_text()
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", page, re.S | re.M):
        peer = re.search(r"^import (opendp|diffprivlib)\b", block, re.M)
        if peer is None:
            exec(compile(block, "coming-from.md", "exec"), names)
        elif importlib.util.find_spec(peer.group(1)) is not None:
            with warnings.catch_warnings():
                # Those of other packages are theirs.
                warnings.simplefilter("ignore")
                exec(compile(block, "coming-from.md", "exec"), names)
    shown = capsys.readouterr().out
    assert "Harbourton" in shown and shown.count("Protects") == 2


def test_the_tutorial_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(ROOT / "examples" / "shop" / "visits.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((ROOT / "examples" / "python" / "tutorial.ipynb").read_text())
    names: dict[str, object] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            tree = ast.parse("".join(cell["source"]))
            last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "tutorial.ipynb", "exec"), names)
            if isinstance(last, ast.Expr):
                # A notebook shows the last value, as a page where it can.
                value = eval(compile(ast.Expression(last.value), "tutorial.ipynb", "eval"), names)
                getattr(value, "_repr_html_", value.__repr__)()
    assert "hint: " in capsys.readouterr().out
    assert (tmp_path / "towns.csv").read_text().startswith("town,visits,mean\n")
