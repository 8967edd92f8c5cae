"""Which rows the matrix has, and what the peers themselves cannot do."""

from collections.abc import Iterator
from dataclasses import dataclass

from matrix.report import OPERATIONS, Line

BINDINGS = ["JSONRPC", "HTTP+JSON", "GRPC"]

# The SDKs, and the versions of A2A that each speaks as a client.
NAMES = {
    "python": "a2a-sdk (Python)",
    "python-older": "a2a-sdk (Python)",
    "js": "@a2a-js/sdk",
    "js-older": "@a2a-js/sdk",
    "rust": "a2a-client-lf, a2a-server-lf",
    "rust-tomtom": "a2a-protocol-sdk (tomtom215)",
}
SPOKEN = {
    "python": ["1.0", "0.3"],
    "python-older": ["0.3"],
    "js": ["1.0", "0.3"],
    "js-older": ["0.3"],
    "rust": ["1.0"],
    "rust-tomtom": ["1.0"],
}

# What an agent on each SDK speaks when it is called directly; to the hub our client speaks 1.0.
SERVED = {"python": "1.0", "js": "1.0", "rust": "1.0", "rust-tomtom": "1.0"}

NAMELESS = "a caller of 0.3 has no word for one of several agents behind one gRPC port"


@dataclass(frozen=True, order=True)
class Row:
    """A row of the matrix."""

    role: str
    peer: str
    version: str
    way: str
    binding: str


@dataclass(frozen=True)
class Lack:
    """What a peer cannot do, or does otherwise; what of it shows."""

    why: str
    shows: str
    operation: str
    peer: str
    role: str = "client"
    binding: str | None = None
    version: str | None = None
    way: str | None = None
    partly: bool = False

    def is_about(self, line: Line) -> bool:
        """Tells whether it is about a line of the report."""
        return (self.peer, self.role, self.operation) == (
            line.peer,
            line.role,
            line.operation,
        ) and all(
            mine in (None, found)
            for mine, found in [
                (self.binding, line.binding),
                (self.version, line.version),
                (self.way, line.way),
            ]
        )


NO_LIST = "A2A 0.3 has no ListTasks"

NO_KEY = "the SDK sends no credential on gRPC"

# The SDK of Python writes and reads them as all other cards have them.
SCHEMES = "the SDK reads the security schemes of this card only as protobuf writes them"

LACKS = [
    Lack(NO_KEY, "UNAUTHENTICATED", "extended card", "python-older", binding="GRPC"),
    Lack(SCHEMES, "Unsupported security", "extended card", "js", "client", "HTTP+JSON", "0.3"),
    Lack(SCHEMES, "Unsupported security", "extended card", "js-older", binding="HTTP+JSON"),
    Lack(NO_LIST, "NotImplementedError", "list", "python", version="0.3"),
    Lack(NO_LIST, NO_LIST, "list", "python-older"),
    Lack(NO_LIST, "Method not found", "list", "js", "client", "JSONRPC", "0.3"),
    Lack(NO_LIST, "0.3", "list", "js", "client", "HTTP+JSON", "0.3"),
    Lack(NO_LIST, "0.3", "list", "js", "client", "GRPC", "0.3"),
    Lack(NO_LIST, NO_LIST, "list", "js-older"),
]


def rows() -> Iterator[tuple[Row, str | None]]:
    """Returns every row that there must be, and why nothing of it can be done, if so."""
    for peer, versions in SPOKEN.items():
        ways = ["direct", "hub", *(f"hub to {agent}" for agent in NAMES)]
        for version in versions:
            for way in ways:
                for binding in BINDINGS:
                    nameless = way != "direct" and (binding, version) == ("GRPC", "0.3")
                    row = Row("client", peer, version, way, binding)
                    yield row, NAMELESS if nameless else None
    for peer in NAMES:
        for binding in BINDINGS:
            yield Row("agent", peer, SERVED.get(peer, "0.3"), "direct", binding), None
            yield Row("agent", peer, "1.0", "hub", binding), None
    for peer in ["rust", "rust-tomtom"]:
        for role in ["client", "agent"]:
            for binding in BINDINGS:
                yield Row(role, peer, "0.3", "direct", binding), "the SDK speaks A2A 1.0 only"


def row_of(line: Line) -> Row:
    """Returns the row that a line of the report belongs to."""
    return Row(line.role, line.peer, line.version, line.way, line.binding)


__all__ = ["BINDINGS", "LACKS", "NAMES", "OPERATIONS", "Lack", "Row", "row_of", "rows"]
