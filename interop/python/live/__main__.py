"""Lets the official Python SDK call our server, on each binding in each version.

Usage: python -m live AGENT, where AGENT is the built example `conformance`. With
NUNCIO_CARRIED, AGENT is the built example `carry`, a hub with that agent behind it.
"""

import asyncio
import os
import sys
import time
import traceback
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path

from live import agent, crowds, failures, push, sends, streams, tasks
from live.peer import Peer, peers

SUITES = [tasks, sends, streams, push, failures, crowds]

# What the SDK does not offer to its users, and says so.
MISSING = {
    ("JSONRPC", "0.3"): {"tasks_are_listed_by_page", "tasks_are_listed_by_state"},
    ("GRPC", "0.3"): {"tasks_are_listed_by_page", "tasks_are_listed_by_state"},
    ("HTTP+JSON", "0.3"): {
        "tasks_are_listed_by_page",
        "tasks_are_listed_by_state",
        "settings_are_listed",
        "settings_are_deleted",
    },
}

# What the SDK does otherwise than A2A says, and how that shows. Its protobuf of 0.3 has the
# base64 of a file where the bytes belong.
DIFFERENT = {
    ("GRPC", "0.3"): {"files_and_data_come_back": "Incorrect padding"},
    ("HTTP+JSON", "0.3"): {"files_and_data_come_back": "Incorrect padding"},
}

# Whether a hub carries the calls.
CARRIED = "NUNCIO_CARRIED" in os.environ

# Callers of 0.3 have no word for the agent behind a shared gRPC endpoint, as the hub's is; they
# name it by metadata, of which the SDK knows nothing.
UNCARRIED = {("GRPC", "0.3")}

# Far longer than any case takes.
PATIENCE = 60

Case = Callable[[Peer], Awaitable[None]]


async def main(program: str) -> int:
    """Runs every case for every client and returns the exit code."""
    has_failed = False
    with agent.running(Path(program)) as url:
        async with peers(url, UNCARRIED if CARRIED else set()) as found:
            for peer in found:
                has_failed |= not await check(peer)
    return 1 if has_failed else 0


async def check(peer: Peer) -> bool:
    """Runs every case for one client, and says what came of them."""
    missing = MISSING.get((peer.binding, peer.version), set())
    different = DIFFERENT.get((peer.binding, peer.version), {})
    cases: list[Case] = [case for suite in SUITES for case in suite.CASES]
    passed = 0
    start = time.monotonic()
    for case in cases:
        problem = await run(case, peer, case.__name__ in missing)
        difference = different.get(case.__name__)
        if difference is not None:
            is_known = problem is not None and difference in problem
            problem = None if is_known else f"not {difference!r} but {problem}; see DIFFERENT"
        if problem is None:
            passed += 1
        else:
            print(f"FAILED {peer.binding} {peer.version} {case.__name__}: {problem}")
    took = time.monotonic() - start
    without = f" ({len(missing) + len(different)} not in the SDK)" if missing else ""
    print(
        f"interop: a2a-sdk {version('a2a-sdk')} (Python){' through the hub' if CARRIED else ''}, "
        f"{peer.binding} {peer.version}: "
        f"{passed} of {len(cases)} cases passed{without}, {took:.1f} s",
        flush=True,
    )
    return passed == len(cases)


async def run(case: Case, peer: Peer, is_missing: bool) -> str | None:
    """Runs a case, and returns what is wrong."""
    try:
        await asyncio.wait_for(case(peer), PATIENCE)
    except NotImplementedError as error:
        return None if is_missing else f"the SDK does not offer it: {error}"
    except asyncio.TimeoutError:
        return f"took longer than {PATIENCE} s"
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"line {where.lineno} of {Path(where.filename).name}: {error!r}"[:600]
    return "the SDK offers it now: change MISSING" if is_missing else None


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))
