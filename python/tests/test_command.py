"""The command of the wheel, which runs in the package's library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import hushtable as ht

WORDS = [sys.executable, "-m", "hushtable"]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    words = [*WORDS, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=300)


def test_exit_codes_are_those_of_the_program(files: Path) -> None:
    version = run("--version")
    assert (version.returncode, version.stdout) == (0, f"hushtable {ht.__version__}\n")
    assert run("--help").returncode == 0
    assert run("quer").returncode == 2
    refused = run("query", "--contract", files, "SELECT id FROM visits")
    assert refused.returncode == 1 and refused.stderr.startswith("error: ")
    assert refused.stdout == ""


def test_a_reader_may_stop_early(files: Path) -> None:
    process = subprocess.Popen(
        [*WORDS, "generate", "reference"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    _, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (0, b"")


def test_queries_come_from_standard_input(files: Path) -> None:
    words = [*WORDS, "query", "--contract", str(files), "-"]
    sql = "SELECT COUNT(*) AS n FROM visits"
    done = subprocess.run(words, input=sql, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.startswith("n\n")
    assert "charged epsilon = 1" in done.stderr
