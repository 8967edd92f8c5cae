"""Lets the official Python SDK of MCP use our tools, over both transports in both lifecycles.

Usage: python -m delegating NUNCIO, where NUNCIO is the built program.
"""

import asyncio
import sys
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from delegating.cases import CASES, skills_are_tools
from delegating.hub import Hub, running

Case = Callable[[Client, Hub], Awaitable[None]]

# Far longer than any case takes.
PATIENCE = 90

# The handshake of all versions up to 2025-11-25, and that of 2026-07-28.
MODES = {"legacy": "up to 2025-11-25", "2026-07-28": "2026-07-28"}


@asynccontextmanager
async def connected(hub: Hub, transport: str, mode: str, skills: bool) -> AsyncIterator[Client]:
    """Connects a client."""
    if transport == "stdio":
        tools = ["--tools", "skills"] if skills else []
        environment = {"HOME": str(hub.home)}
        server = StdioServerParameters(
            command=str(hub.program), args=["mcp", *tools], env=environment, cwd=hub.home
        )
        async with Client(server, mode=mode) as client:
            yield client
        return
    url = hub.url + "/mcp" + ("?tools=skills" if skills else "")
    headers = {"Authorization": f"Bearer {hub.key}"}
    timeout = httpx2.Timeout(PATIENCE)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


async def run(case: Case, hub: Hub, way: tuple[str, str, bool]) -> None:
    """Runs one case with a client of its own."""
    async with connected(hub, *way) as client:
        await case(client, hub)


async def check(hub: Hub, transport: str, mode: str) -> bool:
    """Runs every case over one transport, and says how many passed."""
    name = f"mcp {version('mcp')}, {transport}, {MODES[mode]}"
    began = time.monotonic()
    passed = 0
    cases = [(case, False) for case in CASES] + [(skills_are_tools, True)]
    for case, skills in cases:
        try:
            await asyncio.wait_for(run(case, hub, (transport, mode, skills)), PATIENCE)
            passed += 1
        except (Exception, asyncio.CancelledError):
            why = traceback.format_exc().strip().splitlines()
            print(f"FAILED {name}: {case.__name__}:", *why[-12:], sep="\n  ")
    took = time.monotonic() - began
    print(f"interop: {name}: {passed} of {len(cases)} cases passed, {took:.1f} s")
    return passed == len(cases)


async def main(program: str) -> int:
    """Runs everything, and returns the exit code."""
    with running(Path(program).resolve()) as hub:
        results = [
            await check(hub, transport, mode) for transport in ("stdio", "HTTP") for mode in MODES
        ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))
