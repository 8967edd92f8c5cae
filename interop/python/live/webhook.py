"""A receiver of webhooks."""

import asyncio
import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# How long a delivery may take; far longer than it does.
PATIENCE = 15


@dataclass(frozen=True)
class Delivery:
    """What came."""

    headers: dict[str, str]
    body: dict[str, Any]


class Receiver:
    """A server that keeps what is delivered to it."""

    def __init__(self, url: str, deliveries: "queue.Queue[Delivery]") -> None:
        """Keeps deliveries that come to a URL."""
        self.url = url
        self._deliveries = deliveries

    async def next(self) -> Delivery:
        """Waits for the next delivery."""
        return await asyncio.to_thread(self._deliveries.get, timeout=PATIENCE)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Runs a receiver on a free port."""
    deliveries: queue.Queue[Delivery] = queue.Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            deliveries.put(Delivery(headers, json.loads(body)))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is given)
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield Receiver(f"http://127.0.0.1:{server.server_port}/hook", deliveries)
    finally:
        server.shutdown()
        server.server_close()
