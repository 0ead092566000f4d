"""Exceptions. None of them has a value of the data in it: they may be shown to whoever asked.
Those of the owner's methods are for the owner."""

from __future__ import annotations


class HushtableError(Exception):
    """The base of all exceptions of this package.

    `what` is the fault: what, with which value, and what is allowed. `place` has the lines of SQL
    that it is about, with the piece underlined, or is None. `hint` is a way that works, or None.
    `str` has all three.
    """

    what: str
    place: str | None
    hint: str | None

    def __init__(self, what: str, place: str | None = None, hint: str | None = None) -> None:
        super().__init__(what, place, hint)
        self.what = what
        self.place = place
        self.hint = hint

    def __str__(self) -> str:
        hint = None if self.hint is None else f"  hint: {self.hint}"
        return "\n".join(part for part in (self.what, self.place, hint) if part is not None)


class Refused(HushtableError):
    """The question is refused: it would not be private, or it is not supported. Nothing was
    charged."""


class BudgetExceeded(Refused):
    """The question costs more than is left of the budget. Nothing was charged."""


class UnknownAnalyst(Refused):
    """No analyst is named who could pay, or the one who is has no budget. Nothing was charged."""


class ArgumentError(HushtableError, ValueError):
    """An argument is not in its range. Nothing was charged."""


class ContractError(HushtableError):
    """The contract or a workload cannot be read, is wrong or is not finished."""


class DataError(HushtableError):
    """The data cannot be read. A charge that was made stays, and pays for the same question."""


class LedgerError(HushtableError):
    """The ledger cannot be read or written, or is damaged."""


class ResourceError(HushtableError):
    """The system gives too little memory, no randomness or no threads. A charge that was made
    stays, and pays for the same question."""


class Interrupted(HushtableError):
    """The work was given up. A charge that was made stays, and pays for the same question."""


class Closed(HushtableError):
    """The engine was closed, or it was opened in another process. Nothing was charged."""


class InternalError(HushtableError):
    """The engine broke a rule of its own: a fault in Hushtable. Please report it, without data. A
    charge that was made stays, and pays for the same question."""


class HushtableWarning(UserWarning):
    """A warning about a question. The answer stands."""
