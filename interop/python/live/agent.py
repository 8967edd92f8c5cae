"""The agent that is called: our built example, on a port of its own."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

READY = "listening on "

# Every card that an SDK may find, and webhooks to this machine.
ARGUMENTS = ["--port", "0", "--card", "hybrid", "--allow-loopback-webhooks"]


@contextmanager
def running(program: Path) -> Iterator[str]:
    """Runs the agent, and gives its URL."""
    process = subprocess.Popen(
        [program, *ARGUMENTS], stderr=subprocess.PIPE, encoding="utf-8", bufsize=1
    )
    try:
        yield _url(process)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def _url(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(READY):
            # Nobody reads on, and the agent must not block when it says more.
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return line.removeprefix(READY).strip()
        print(line, end="")
    raise RuntimeError(f"the agent ended with {process.wait()} before it listened")
