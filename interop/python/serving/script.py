"""What the agents do, whatever SDK they are built on."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

# Slow enough that a stream can be cut and taken up again while the task works.
PAUSE = 0.01


@dataclass(frozen=True)
class Piece:
    """A piece of the one artifact that a task gives."""

    text: str
    append: bool = False
    last: bool = True


@dataclass(frozen=True)
class Ask:
    """A question, after which the caller has the turn."""

    text: str


def hear(text: str) -> None:
    """Writes down that somebody said this, a line of JSON each time, if anybody counts."""
    if name := os.environ.get("NUNCIO_INTEROP_HEARD"):
        with Path(name).open("a", encoding="utf-8") as heard:
            heard.write(json.dumps(text) + "\n")


def message_in(text: str) -> str | None:
    """What `message:` is to be answered with, without any task."""
    return text.removeprefix("message:") if text.startswith("message:") else None


async def steps(text: str) -> AsyncIterator[Piece | Ask]:
    """Does what a text says: `count:N`, `ask`, `hold`; everything else is said back."""
    if text == "hold":
        await asyncio.Event().wait()
    elif text == "ask":
        yield Ask("which one?")
    elif text.startswith("count:"):
        count = int(text.removeprefix("count:"))
        for index in range(count):
            yield Piece(f"{index} ", append=index > 0, last=index + 1 == count)
            await asyncio.sleep(PAUSE)
    else:
        yield Piece(text)
