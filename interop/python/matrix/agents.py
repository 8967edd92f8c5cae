"""The processes that the matrix needs: agents that do as they are told, and a hub before them."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[3]
INTEROP = ROOT / "interop"

READY = "listening on "
KEY = "key "

# What the SDKs of 0.3 are found by, and those of 1.0.
OLDER = {"PYTHONPATH": f"{INTEROP / '.venv/older'}:{INTEROP / 'python'}"}
CURRENT = {"PYTHONPATH": str(INTEROP / "python")}


@dataclass(frozen=True)
class Program:
    """How something is started."""

    command: list[str]
    environment: dict[str, str]


def agents(built: Path) -> dict[str, Program]:
    """Returns the agents on the SDKs of others; those in Rust are in a folder."""
    node = ["node", str(INTEROP / "js")]
    return {
        "python": Program([sys.executable, "-m", "serving"], CURRENT),
        "python-older": Program([sys.executable, "-m", "serving.older"], OLDER),
        "js": Program([node[0], f"{node[1]}/serving.js"], {}),
        "js-older": Program([node[0], f"{node[1]}/serving-older.js"], {}),
        "rust": Program([str(built / "official")], {}),
        "rust-tomtom": Program([str(built / "tomtom")], {}),
    }


def clients(built: Path) -> dict[str, Program]:
    """Returns the clients on the SDKs of others."""
    node = ["node", str(INTEROP / "js")]
    return {
        "python": Program([sys.executable, "-m", "calling"], CURRENT),
        "python-older": Program([sys.executable, "-m", "calling.older"], OLDER),
        "js": Program([node[0], f"{node[1]}/calling-current.js"], {}),
        "js-older": Program([node[0], f"{node[1]}/calling-older.js"], {}),
        "rust": Program([str(built / "official-client")], {}),
        "rust-tomtom": Program([str(built / "tomtom-client")], {}),
    }


@dataclass(frozen=True)
class Started:
    """Where an agent listens, and the key that it takes, if it has said one."""

    url: str
    key: str | None


@contextmanager
def running(program: Program, arguments: list[str] | None = None) -> Iterator[Started]:
    """Runs a program until the end, and gives what it says at the start."""
    process = subprocess.Popen(
        program.command + (arguments or []),
        env={**os.environ, **program.environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    assert process.stdout is not None
    try:
        yield _started(process.stdout)
    finally:
        process.kill()
        process.wait()


def _started(said: IO[str]) -> Started:
    key = None
    before = []
    for line in said:
        before.append(line)
        if line.startswith(KEY):
            key = line.removeprefix(KEY).strip()
        elif line.startswith(READY):
            # Nobody reads on, and it must not wait for that.
            threading.Thread(target=said.read, daemon=True).start()
            return Started(line.removeprefix(READY).strip(), key)
    raise RuntimeError(f"it has ended: {''.join(before)}")


@contextmanager
def everybody(examples: Path, built: Path) -> Iterator[dict[str, Started]]:
    """Runs every agent: ours, which is called `ours`, and those of others."""
    programs = {"ours": Program([str(examples / "scripted")], {}), **agents(built)}
    with ExitStack() as stack:
        yield {name: stack.enter_context(running(each)) for name, each in programs.items()}


@contextmanager
def hub(examples: Path, before: dict[str, Started]) -> Iterator[dict[str, str]]:
    """Runs a hub before agents, and gives where it carries calls to each."""
    key = before["ours"].key or ""
    carry = Program([str(examples / "carry")], {"NUNCIO_CARRIED_KEY": key})
    named = [f"{name}={agent.url.rstrip('/')}" for name, agent in before.items()]
    with running(carry, named) as started:
        base = started.url.rsplit("/", 1)[0]
        yield {name: f"{base}/{name}/" for name in before}
