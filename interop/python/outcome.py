"""What came of a case."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """What came of a case; without a problem it has passed."""

    case: str
    problem: str | None = None
