"""Lets the last official Python SDK of A2A 0.3 call our server, on each binding.

It finds the card where it is for everybody, and reads only what 0.3 has put there.

Usage: python -m older AGENT, where AGENT is the built example `conformance`.
"""

import asyncio
import os
import sys
import time
import uuid
from collections.abc import Awaitable
from importlib.metadata import version
from pathlib import Path

import grpc.aio
import httpx
from a2a.client.errors import A2AClientError
from a2a.types import (
    Message,
    Part,
    PushNotificationAuthenticationInfo,
    PushNotificationConfig,
    Role,
    Task,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TaskState,
    TaskStatusUpdateEvent,
    TextPart,
)

from live import agent
from live.webhook import receiving
from older.peer import BINDINGS, Peer, connect

# Whether a hub carries the calls.
CARRIED = "NUNCIO_CARRIED" in os.environ

# Callers of 0.3 have no word for the agent behind a shared gRPC endpoint, as the hub's is.
UNCARRIED = {"GRPC", "grpc"} if CARRIED else set()

# Far longer than anything here takes.
PATIENCE = 60


def saying(scene: str, task: Task | None = None) -> Message:
    """Returns a message that asks the agent for a scene."""
    return Message(
        message_id=f"{scene}-{uuid.uuid4()}",
        role=Role.user,
        parts=[Part(root=TextPart(text="Hello"))],
        task_id=task.id if task else None,
        context_id=task.context_id if task else None,
    )


async def a_message_becomes_a_task(peer: Peer) -> None:
    """The answer is the finished task with what the agent made."""
    task = await peer.send(saying("tck-artifact-text"))
    assert task.status.state == TaskState.completed, task
    assert task.artifacts
    part = task.artifacts[0].parts[0].root
    assert isinstance(part, TextPart)
    assert part.text == "Generated text content", part


async def a_message_may_be_answered_without_a_task(peer: Peer) -> None:
    """A reply is a message, in a stream too."""
    for client in (peer.unary, peer.streaming):
        answers = [answer async for answer in client.send_message(saying("tck-message-response"))]
        assert len(answers) == 1, answers
        assert isinstance(answers[0], Message), answers


async def a_task_may_ask_and_go_on(peer: Peer) -> None:
    """A second message goes on with the task."""
    task = await peer.send(saying("tck-input-required"))
    assert task.status.state == TaskState.input_required, task
    done = await peer.send(saying("tck-complete-task", task))
    assert (done.id, done.status.state) == (task.id, TaskState.completed), done
    kept = await peer.unary.get_task(TaskQueryParams(id=task.id, history_length=10))
    said = [message for message in kept.history or [] if message.role == Role.user]
    assert len(said) == 2, kept


async def a_stream_tells_a_task_from_start_to_end(peer: Peer) -> None:
    """The SDK makes the whole task of its events, the last of which says that it is."""
    events = await peer.stream(saying("tck-stream-artifact-chunked"))
    task, last = events[-1]
    assert isinstance(last, TaskStatusUpdateEvent), last
    assert last.final, last
    assert task.status.state == TaskState.completed, task
    assert task.artifacts
    texts = [part.root.text for part in task.artifacts[0].parts if isinstance(part.root, TextPart)]
    assert texts == ["chunk-1 ", "chunk-2"], texts


async def a_stream_ends_when_the_task_asks(peer: Peer) -> None:
    """Whoever has sent the message must answer first."""
    task, _ = (await peer.stream(saying("tck-input-required")))[-1]
    assert task.status.state == TaskState.input_required, task


async def subscribers_see_a_task_end(peer: Peer) -> None:
    """Several who subscribe while a task is at work see how it is cancelled."""
    sent = aiter(peer.streaming.send_message(saying("tck-cancel")))
    first = await anext(sent)
    assert isinstance(first, tuple), first
    named = TaskIdParams(id=first[0].id)
    streams = [aiter(peer.streaming.resubscribe(named)) for _ in range(3)]
    for stream in streams:
        assert (await anext(stream))[0].id == named.id
    cancelled = await peer.unary.cancel_task(named)
    assert cancelled.status.state == TaskState.canceled, cancelled
    for stream in streams:
        events = [event async for event in stream]
        assert events[-1][0].status.state == TaskState.canceled, events


async def a_webhook_is_set_read_and_called(peer: Peer) -> None:
    """A task tells its webhook how it ends, with the secrets that were given for it."""
    with receiving() as receiver:
        task = await peer.send(saying("tck-input-required"))
        secret = PushNotificationAuthenticationInfo(schemes=["Bearer"], credentials="s3cret")
        hook = PushNotificationConfig(
            id="hook", url=receiver.url, token="t0ken", authentication=secret
        )
        config = TaskPushNotificationConfig(task_id=task.id, push_notification_config=hook)
        made = await peer.unary.set_task_callback(config)
        assert made.push_notification_config.url == receiver.url, made
        await peer.send(saying("tck-complete-task", task))
        while True:
            delivery = await receiver.next()
            assert delivery.headers["authorization"] == "Bearer s3cret", delivery
            assert delivery.headers["x-a2a-notification-token"] == "t0ken", delivery
            told = Task.model_validate(delivery.body)
            assert told.id == task.id, told
            if told.status.state == TaskState.completed:
                return


async def an_unknown_task_is_refused(peer: Peer) -> None:
    """Also where a stream was asked for; the SDK does not read all that is said about it."""
    named = TaskIdParams(id="nobody-has-this")
    why = "404 Not Found" if peer.binding == "HTTP+JSON" else "no task nobody-has-this"
    await refused(peer.unary.get_task(TaskQueryParams(id=named.id)), why)
    why = "Invalid SSE response" if peer.binding == "HTTP+JSON" else "no task nobody-has-this"
    await refused(anext(aiter(peer.streaming.resubscribe(named))), why)


async def refused(call: Awaitable[object], why: str) -> None:
    """Requires that a call fails, and that the SDK says why."""
    try:
        answer = str(await call)
    except (A2AClientError, grpc.aio.AioRpcError) as error:
        answer = f"error: {error}"
    assert answer.startswith("error: "), answer
    assert why in answer, answer


async def many_come_at_once(peer: Peer) -> None:
    """A hundred sends and fifty streams."""
    sends = asyncio.gather(*(peer.send(saying("tck-artifact-text")) for _ in range(100)))
    streams = asyncio.gather(*(peer.stream(saying("slow")) for _ in range(50)))
    assert len({task.id for task in await sends}) == 100
    assert {events[-1][0].status.state for events in await streams} == {TaskState.completed}


CASES = [
    a_message_becomes_a_task,
    a_message_may_be_answered_without_a_task,
    a_task_may_ask_and_go_on,
    a_stream_tells_a_task_from_start_to_end,
    a_stream_ends_when_the_task_asks,
    subscribers_see_a_task_end,
    a_webhook_is_set_read_and_called,
    an_unknown_task_is_refused,
    many_come_at_once,
]


async def main(program: str) -> int:
    """Runs every case for every client and returns the exit code."""
    has_failed = False
    with agent.running(Path(program)) as url:
        async with httpx.AsyncClient(timeout=PATIENCE) as http:
            for binding in [found for found in BINDINGS if found not in UNCARRIED]:
                has_failed |= not await check(await connect(url, binding, http))
    return 1 if has_failed else 0


async def check(peer: Peer) -> bool:
    """Runs every case for one client, and says what came of them."""
    passed = 0
    start = time.monotonic()
    for case in CASES:
        try:
            await asyncio.wait_for(case(peer), PATIENCE)
            passed += 1
        except Exception as error:
            print(f"FAILED {peer.binding} 0.3 {case.__name__}: {error!r}"[:600])
    print(
        f"interop: a2a-sdk {version('a2a-sdk')} (Python){' through the hub' if CARRIED else ''}, "
        f"{peer.binding} 0.3: "
        f"{passed} of {len(CASES)} cases passed, {time.monotonic() - start:.1f} s",
        flush=True,
    )
    return passed == len(CASES)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))
