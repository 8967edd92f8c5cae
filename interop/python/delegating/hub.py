"""A hub with the agents of the demo, for as long as it is needed."""

import json
import os
import subprocess
import tempfile
import threading
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LISTENING = "listening on "


@dataclass(frozen=True)
class Hub:
    """A hub: the program, the user's home, where it listens, and the administrator's key."""

    program: Path
    home: Path
    url: str
    key: str

    def get(self, path: str) -> dict[str, Any]:
        """Asks the hub's own API."""
        headers = {"Authorization": f"Bearer {self.key}"}
        request = urllib.request.Request(self.url + path, headers=headers)
        with urllib.request.urlopen(request) as answer:
            found: dict[str, Any] = json.load(answer)
            return found


@contextmanager
def running(program: Path) -> Iterator[Hub]:
    """Starts a hub, and stops it at the end."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        command = [str(program), "up", "--demo", "--port", "0"]
        environment = {"HOME": folder, "PATH": os.environ["PATH"]}
        process = subprocess.Popen(
            command, env=environment, cwd=folder, stderr=subprocess.PIPE, text=True
        )
        try:
            assert process.stderr is not None
            url = address(process.stderr)
            # Nobody reads it, and it must not wait for that.
            threading.Thread(target=process.stderr.read, daemon=True).start()
            key = (home / ".local/share/nuncio/hub/admin.key").read_text().strip()
            yield Hub(program, home, url, key)
        finally:
            process.kill()
            process.wait()


def address(said: Iterable[str]) -> str:
    """Waits until the hub says where it listens."""
    before = []
    for line in said:
        if line.startswith(LISTENING):
            return line.removeprefix(LISTENING).strip()
        before.append(line)
    raise RuntimeError(f"the hub has ended: {''.join(before)}")
