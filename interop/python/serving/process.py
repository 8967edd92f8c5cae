"""An agent as a process: on ports of its own until its input ends or it is terminated."""

import socket
import sys
import threading

import grpc.aio
import uvicorn
from starlette.applications import Starlette

# On a busy machine, a caller would meet connections that were closed for being idle.
KEEP_ALIVE = 300


def listener() -> socket.socket:
    """A socket on a free port."""
    opened = socket.create_server(("127.0.0.1", 0), backlog=1024)
    opened.setblocking(False)
    return opened


def url(opened: socket.socket) -> str:
    """Where a socket is reached, without a slash at the end."""
    return f"http://127.0.0.1:{opened.getsockname()[1]}"


class _Server(uvicorn.Server):
    """Says when it listens, and ends with the input."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        threading.Thread(target=self._wait_for_input, daemon=True).start()
        assert sockets is not None
        print(f"listening on {url(sockets[0])}/", flush=True)

    def _wait_for_input(self) -> None:
        sys.stdin.buffer.read()
        self.should_exit = True


async def serve(app: Starlette, opened: socket.socket, grpc_server: grpc.aio.Server) -> None:
    """Serves until the input ends or somebody terminates the process."""
    await grpc_server.start()
    config = uvicorn.Config(
        app,
        log_level="error",
        lifespan="off",
        timeout_graceful_shutdown=1,
        timeout_keep_alive=KEEP_ALIVE,
    )
    await _Server(config).serve([opened])
    await grpc_server.stop(None)
