"""The command `hushtable`: `python -m hushtable` is the same."""

from __future__ import annotations

import signal
import sys

from ._hushtable import run_command


def main() -> int:
    """Runs the command with the program's arguments and returns its exit code."""
    # Python would only note Ctrl-C, and act on it after the command has ended.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run_command(["hushtable", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
