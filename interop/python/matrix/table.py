"""Judges a report, and prints the matrix.

Usage: python -m matrix.table REPORT [--write FILE]. Fails if an operation has failed, if one was
not tried, and if a peer can do meanwhile what `expected` says that it cannot.
"""

import sys
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from matrix.expected import BINDINGS, LACKS, NAMES, OPERATIONS, Row, row_of, rows
from matrix.report import Line, read

HEAD = """# Interoperability

Who was tried with Nuncio, and what came of it. `interop/run` does all of this, and \
`interop/run --write` wrote this page.

- A **client** calls our agent: directly, or through a hub (*hub*); or it calls an agent on \
another SDK through a hub (*hub to …*).
- An **agent** is called by our client: directly, or through a hub. Between our client and the \
hub it is A2A 1.0, whatever the agent speaks.
- A row is one way in all bindings that came out alike.

"""


@dataclass
class Matrix:
    """What is in the cells."""

    cells: dict[tuple[Row, str], str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def note(self, text: str) -> str:
        """Returns the mark of a note."""
        if text not in self.notes:
            self.notes.append(text)
        return f"[{self.notes.index(text) + 1}]"

    def fail(self, row: Row, operation: str, why: str) -> str:
        """Returns what is in the cell of a failure."""
        at = f"{row.peer} as {row.role}, {row.binding} {row.version}, {row.way}"
        self.failures.append(f"FAILED {at}: {operation}: {why}")
        return "FAIL"


def judge(report: list[Line]) -> Matrix:
    """Puts a report into cells."""
    matrix = Matrix()
    found = {(row_of(line), line.operation): line for line in report}
    for row, impossible in rows():
        for operation in OPERATIONS:
            line = found.pop((row, operation), None)
            if impossible:
                cell = f"n/a {matrix.note(impossible)}"
            elif line is None:
                cell = matrix.fail(row, operation, "nobody has tried it")
            else:
                cell = cell_of(matrix, row, line)
            matrix.cells[row, operation] = cell
    for (row, operation), line in found.items():
        matrix.fail(row, operation, f"nobody has expected it: {line}")
    return matrix


def cell_of(matrix: Matrix, row: Row, line: Line) -> str:
    """Returns what is in a cell."""
    if line.lacks and not line.problem:
        return f"{'ok' if line.partly else 'n/a'} {matrix.note(line.lacks)}"
    lack = next((one for one in LACKS if one.is_about(line)), None)
    if lack is None:
        return matrix.fail(row, line.operation, line.problem) if line.problem else "ok"
    if line.problem is None:
        return matrix.fail(row, line.operation, f"no longer so, take it out: {lack.why}")
    if lack.shows not in line.problem:
        return matrix.fail(row, line.operation, line.problem)
    return f"{'ok' if lack.partly else 'n/a'} {matrix.note(lack.why)}"


def table(matrix: Matrix) -> list[list[str]]:
    """Returns the lines of the table; bindings that came out alike share one."""
    lines = [["SDK", "as", "A2A", "way", "binding", *OPERATIONS]]
    order = list(dict.fromkeys(row for row, _ in rows()))

    def way(row: Row) -> tuple[str, str, str, str]:
        return row.role, row.peer, row.version, row.way

    for _, alike in groupby(sorted(order, key=lambda row: place(order, row)), key=way):
        shared: dict[tuple[str, ...], list[Row]] = {}
        for row in alike:
            cells = tuple(matrix.cells[row, operation] for operation in OPERATIONS)
            shared.setdefault(cells, []).append(row)
        for cells, members in shared.items():
            row = members[0]
            bindings = [each.binding for each in members]
            named = "all" if len(bindings) == len(BINDINGS) else ", ".join(bindings)
            lines.append([row.peer, row.role, row.version, row.way, named, *cells])
    return lines


def place(order: list[Row], row: Row) -> tuple[bool, int, bool, int]:
    """Sorts clients before agents, and keeps rows together that differ in the binding only."""
    peers = list(NAMES)
    first = next(
        index
        for index, other in enumerate(order)
        if (other.role, other.peer, other.version, other.way)
        == (row.role, row.peer, row.version, row.way)
    )
    return row.role == "agent", peers.index(row.peer), row.version == "0.3", first


def versions(report: list[Line]) -> dict[str, str]:
    """Returns which SDK each peer is."""
    told: dict[str, list[str]] = {}
    for line in sorted(report, key=lambda line: line.role, reverse=True):
        if line.sdk not in told.setdefault(line.peer, []):
            told[line.peer].append(line.sdk)
    return {peer: f"{name} {' and '.join(told.get(peer, []))}" for peer, name in NAMES.items()}


def aligned(lines: list[list[str]]) -> str:
    """Returns a table for a terminal."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    padded = (
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True))
        for line in lines
    )
    return "\n".join(line.rstrip() for line in padded)


def page(lines: list[list[str]], matrix: Matrix, report: list[Line]) -> str:
    """Returns the page of the documentation."""
    head, *body = lines
    table = [f"| {' | '.join(line)} |" for line in body]
    rule = "|---" * len(head) + "|"
    peers = [f"| {peer} | {name} |" for peer, name in versions(report).items()]
    text = [
        HEAD + "| | SDK |",
        "|---|---|",
        *peers,
        "",
        f"| {' | '.join(head)} |",
        rule,
        *table,
        "",
    ]
    text += [f"- [{number}] {note}" for number, note in enumerate(matrix.notes, 1)]
    return "\n".join(text) + "\n"


def main(arguments: list[str]) -> int:
    """Prints the matrix, and returns the exit code."""
    report = read(Path(arguments[0]))
    matrix = judge(report)
    lines = table(matrix)
    print(aligned(lines))
    for peer, name in versions(report).items():
        print(f"{peer}: {name}")
    for number, note in enumerate(matrix.notes, 1):
        print(f"[{number}] {note}")
    for failure in matrix.failures:
        print(failure)
    tried = sum(cell.startswith("ok") for cell in matrix.cells.values())
    print(
        f"interop: {tried} of {len(matrix.cells)} cells of the matrix are ok, "
        f"{len(matrix.failures)} failed, the others no peer can do"
    )
    if arguments[1:2] == ["--write"] and not matrix.failures:
        Path(arguments[2]).write_text(page(lines, matrix, report), encoding="utf-8")
    return 1 if matrix.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
