"""Lets every SDK call our agent, directly and through a hub, and agents on every SDK through it.

Usage: python -m matrix TARGET, where TARGET is the folder with what Cargo has built. What came of
it is in the report, see matrix.report; matrix.table judges it.
"""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from matrix import agents


def main(target: Path) -> int:
    """Runs every client, and returns the exit code."""
    examples = target / "examples"
    with (
        agents.everybody(examples, target) as found,
        agents.hub(examples, found) as carried,
    ):
        ways = [f"direct={found['ours'].url}/", f"hub={carried['ours']}"]
        ways += [f"hub to {name}={carried[name]}" for name in carried if name != "ours"]

        def call(client: agents.Program) -> int:
            environment = {**client.environment, "NUNCIO_INTEROP_KEY": found["ours"].key or ""}
            command = client.command + ways
            return subprocess.run(
                command, env={**os.environ, **environment}, check=False
            ).returncode

        start = time.monotonic()
        # They wait more than they work.
        with ThreadPoolExecutor(3) as pool:
            codes = list(pool.map(call, agents.clients(target).values()))
    took = time.monotonic() - start
    print(f"interop: {len(codes)} clients to {len(ways)} agents each, {took:.1f} s", flush=True)
    return 1 if any(codes) else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
