"""A hub on SQLite that can be killed, and started again on the same data and at the same port."""

import json
import os
import signal
import subprocess
import threading
import urllib.request
from pathlib import Path
from typing import Any

from delegating.hub import address


class Hub:
    """A hub with its home in a folder."""

    def __init__(self, program: Path, home: Path) -> None:
        """Starts it for the first time."""
        self._program = program
        self._home = home
        self._environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
        self._process: subprocess.Popen[str] | None = None
        self._port = "0"
        self.start()

    def start(self) -> None:
        """Starts it, and waits until it listens."""
        self._process = subprocess.Popen(
            [str(self._program), "up", "--port", self._port],
            env=self._environment,
            cwd=self._home,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        self.url = address(self._process.stderr)
        self._port = self.url.rsplit(":", 1)[1]
        # Nobody reads it, and it must not wait for that.
        threading.Thread(target=self._process.stderr.read, daemon=True).start()
        key = self._home / ".local/share/nuncio/hub/admin.key"
        self._key = key.read_text(encoding="utf-8").strip()

    def kill(self) -> None:
        """Ends it as `kill -9` does."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def run(self, *arguments: str) -> None:
        """Runs a command of the program."""
        subprocess.run(
            [str(self._program), *arguments],
            env=self._environment,
            cwd=self._home,
            stdout=subprocess.DEVNULL,
            check=True,
        )

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Asks the hub's own API."""
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
