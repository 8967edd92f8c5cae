"""The nine operations of the matrix, whatever SDK does them."""

import asyncio
import os
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from live.webhook import Receiver, receiving
from matrix.report import OPERATIONS, Line, write

# Far longer than any operation takes.
PATIENCE = 60

# How a card for those that the agent knows describes it.
EXTENDED = "does more for those it knows"

TOKEN = "t0ken"

# How many pieces a task has that somebody comes back to, a hundred in a second.
COUNTS = [50, 300, 1500]


def key() -> str | None:
    """The key that opens the extended card of an agent that is called directly."""
    return os.environ.get("NUNCIO_INTEROP_KEY")


@dataclass(frozen=True)
class Seen:
    """What a client sees of a task; its state is in the words of 1.0, without their prefix."""

    id: str
    context: str
    state: str
    text: str


@dataclass(frozen=True)
class Told:
    """What a stream tells: which task is in which state, and what was made of it meanwhile."""

    task: str
    states: list[str] = field(default_factory=list)
    text: str = ""


class RefusedError(Exception):
    """An error of the agent, by the name that A2A gives it."""


class Client(Protocol):
    """One client of an SDK: a binding in a version."""

    binding: str
    version: str

    async def send(self, text: str, task: Seen | None = None, wait: bool = True) -> Seen | str:
        """Sends a text; the answer is a task, or the text of a message."""

    async def stream(self, text: str) -> Told:
        """Sends a text, and stays to the end."""

    async def leave(self, text: str) -> str:
        """Sends a text, and leaves after the first event, which names the task."""

    async def subscribe(self, task: str) -> Told:
        """Subscribes, and stays to the end."""

    async def get(self, task: str) -> Seen:
        """Asks for a task."""

    async def list(self, context: str) -> list[Seen]:
        """Lists the tasks of a context."""

    async def cancel(self, task: str) -> Seen:
        """Cancels a task."""

    async def set_webhook(self, task: str, url: str, token: str) -> str:
        """Sets a webhook, and returns the URL that the agent has kept."""

    async def extended_card(self) -> str:
        """Asks for the extended card, and returns its description."""


def is_equal(found: object, expected: object) -> None:
    """Requires that something is as it should be."""
    if found != expected:
        raise AssertionError(f"{found!r} instead of {expected!r}")


def counted(count: int) -> str:
    """What `count:N` gives."""
    return "".join(f"{index} " for index in range(count))


async def task_of(client: Client, text: str, wait: bool = True, task: Seen | None = None) -> Seen:
    """Sends a text that becomes a task."""
    answer = await client.send(text, task, wait)
    if isinstance(answer, str):
        raise AssertionError(f"no task, but the message {answer!r}")
    return answer


async def send(client: Client) -> None:
    """A task in answer, a message in answer, and two turns."""
    task = await task_of(client, "hello")
    is_equal((task.state, task.text), ("COMPLETED", "hello"))
    is_equal(await client.send("message:hello"), "hello")
    asks = await task_of(client, "ask")
    is_equal(asks.state, "INPUT_REQUIRED")
    done = await task_of(client, "this one", task=asks)
    is_equal((done.id, done.state, done.text), (asks.id, "COMPLETED", "this one"))


async def stream(client: Client) -> None:
    """Every piece once and in order, and the end last."""
    told = await client.stream("count:5")
    is_equal((told.text, told.states[-1]), (counted(5), "COMPLETED"))


async def subscribe(client: Client) -> None:
    """Who has left comes back, and hears how it ends; nothing is lost."""
    for count in COUNTS:
        task = await client.leave(f"count:{count}")
        try:
            told = await client.subscribe(task)
        except Exception:
            # Who comes back too late is refused; a longer task is still at work.
            if count == COUNTS[-1]:
                raise
            continue
        is_equal((told.task, told.states[-1]), (task, "COMPLETED"))
        is_equal((await client.get(task)).text, counted(count))
        return


async def get(client: Client) -> None:
    """What was sent is found again."""
    sent = await task_of(client, "hello")
    is_equal(await client.get(sent.id), sent)


async def list_tasks(client: Client) -> None:
    """A context has the tasks that were sent in it."""
    sent = await task_of(client, "hello")
    is_equal([task.id for task in await client.list(sent.context)], [sent.id])


async def cancel(client: Client) -> None:
    """The answer is the cancelled task, and so it stays."""
    held = await task_of(client, "hold", wait=False)
    is_equal((await client.cancel(held.id)).state, "CANCELED")
    is_equal((await client.get(held.id)).state, "CANCELED")


async def push(client: Client) -> None:
    """The webhook is told how the task ends, with the token that was given for it."""
    with receiving() as receiver:
        asks = await task_of(client, "ask")
        is_equal(await client.set_webhook(asks.id, receiver.url, TOKEN), receiver.url)
        await task_of(client, "this one", task=asks)
        await until_completed(receiver, asks.id)


async def until_completed(receiver: Receiver, task: str) -> None:
    """Waits for the delivery that tells that a task is completed: in 0.3 it is the task."""
    while True:
        delivery = await receiver.next()
        is_equal(delivery.headers["x-a2a-notification-token"], TOKEN)
        body = delivery.body
        about = body.get("task") or body.get("statusUpdate") or body.get("artifactUpdate") or body
        is_equal(about.get("taskId") or about["id"], task)
        state = about.get("status", {}).get("state")
        if state in ("TASK_STATE_COMPLETED", "completed"):
            return


async def extended_card(client: Client) -> None:
    """Who asks is told more than everybody."""
    is_equal(await client.extended_card(), EXTENDED)


async def errors(client: Client) -> None:
    """The SDK knows by the error what is wrong."""
    await refused(client.get("nobody-has-this"), "TaskNotFound")
    await refused(client.cancel("nobody-has-this"), "TaskNotFound")
    done = await task_of(client, "hello")
    await refused(client.cancel(done.id), "TaskNotCancelable")


async def refused(call: Awaitable[object], name: str) -> None:
    """Requires that a call is refused."""
    try:
        answer = await call
    except RefusedError as error:
        is_equal(str(error), name)
        return
    raise AssertionError(f"not {name}, but {answer}")


CASES: dict[str, Callable[[Client], Awaitable[None]]] = {
    "send": send,
    "stream": stream,
    "subscribe": subscribe,
    "get": get,
    "list": list_tasks,
    "cancel": cancel,
    "push": push,
    "extended card": extended_card,
    "errors": errors,
}


async def check(client: Client, peer: str, sdk: str, way: str) -> None:
    """Does all operations side by side, and reports what came of them."""
    problems = await asyncio.gather(*(problem_of(CASES[name], client) for name in OPERATIONS))
    for operation, problem in zip(OPERATIONS, problems, strict=True):
        write(Line(peer, sdk, "client", client.binding, client.version, way, operation, problem))


async def problem_of(case: Callable[[Client], Awaitable[None]], client: Client) -> str | None:
    """Does an operation, and returns what is wrong."""
    try:
        await asyncio.wait_for(case(client), PATIENCE)
    except asyncio.TimeoutError:
        return f"took longer than {PATIENCE} s"
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"line {where.lineno} of {Path(where.filename).name}: {error!r}"[:600]
    return None
