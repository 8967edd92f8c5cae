"""Lets the official Python SDK and our codec read each other, for every type of A2A 1.0.

Usage: check.py CODEC, where CODEC is the built example of that name.
"""

import sys
from importlib.metadata import version
from pathlib import Path

import refusals
import round_trips
from codec import Codec

# Each takes the codec and returns what came of its cases; other versions go here too.
SUITES = [round_trips.outcomes, refusals.outcomes]

# More than these make a report hard to read.
SHOWN = 30


def main(program: str) -> int:
    """Runs every case and returns the exit code."""
    codec = Codec(Path(program))
    outcomes = [outcome for suite in SUITES for outcome in suite(codec)]
    codec.close()
    failed = [outcome for outcome in outcomes if outcome.problem is not None]
    for outcome in failed[:SHOWN]:
        print(f"FAILED {outcome.case}: {outcome.problem}")
    if len(failed) > SHOWN:
        print(f"… and {len(failed) - SHOWN} more")
    sdk = f"a2a-sdk {version('a2a-sdk')}"
    print(f"interop: {len(outcomes) - len(failed)} of {len(outcomes)} cases passed with {sdk}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
