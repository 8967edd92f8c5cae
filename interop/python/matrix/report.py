"""What callers report: a line of JSON for each operation that they have tried.

The file is named by NUNCIO_INTEROP_REPORT. Nothing is reported without it.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

FILE = "NUNCIO_INTEROP_REPORT"

OPERATIONS = [
    "send",
    "stream",
    "subscribe",
    "get",
    "list",
    "cancel",
    "push",
    "extended card",
    "errors",
]


@dataclass(frozen=True)
class Line:
    """What came of one operation."""

    # The SDK, `python`, with the version that is installed, `1.3.0`.
    peer: str
    sdk: str
    # `client` or `agent`.
    role: str
    # `JSONRPC`, `HTTP+JSON` or `GRPC`, and `1.0` or `0.3`.
    binding: str
    version: str
    # `direct`, `hub` (to our agent, or from our client) or `hub to PEER`.
    way: str
    operation: str
    # What was wrong, if anything was.
    problem: str | None = None
    # Why that is as it should be: what the peer cannot do, or does otherwise; and whether it
    # can do the rest.
    lacks: str | None = None
    partly: bool = False


def write(line: Line) -> None:
    """Adds a line to the report."""
    if name := os.environ.get(FILE):
        with Path(name).open("a", encoding="utf-8") as report:
            report.write(json.dumps(asdict(line)) + "\n")


def read(file: Path) -> list[Line]:
    """Reads a report."""
    return [Line(**json.loads(text)) for text in file.read_text(encoding="utf-8").splitlines()]
