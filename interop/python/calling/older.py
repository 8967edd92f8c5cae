"""Calls agents with the last official Python SDK of A2A 0.3, on each binding.

Usage: python -m calling.older WAY=URL...; reports what came of it, see matrix.report.
"""

import asyncio
import logging
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable
from importlib.metadata import version
from typing import TypeVar

import grpc
import httpx
from a2a.client.errors import A2AClientHTTPError, A2AClientJSONRPCError
from a2a.types import (
    Message,
    Part,
    PushNotificationConfig,
    Role,
    Task,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TextPart,
)

from calling import cases
from calling.cases import PATIENCE, RefusedError, Seen, Told
from older.peer import BINDINGS, Peer, connect

# What stands for an error: a code of JSON-RPC, a status of HTTP and one of gRPC. On the last two,
# 0.3 has no more than that.
NAMES = {
    -32001: "TaskNotFound",
    -32002: "TaskNotCancelable",
    404: "TaskNotFound",
    409: "TaskNotCancelable",
    grpc.StatusCode.NOT_FOUND: "TaskNotFound",
    grpc.StatusCode.FAILED_PRECONDITION: "TaskNotCancelable",
}

T = TypeVar("T")


class Client:
    """The SDK's own clients of a binding."""

    version = "0.3"

    def __init__(self, peer: Peer) -> None:
        """Takes the clients."""
        self.binding = peer.binding
        self._peer = peer

    async def send(self, text: str, task: Seen | None = None, wait: bool = True) -> Seen | str:
        """Sends a text."""
        client = self._peer.unary if wait else self._peer.polling
        answers = [answer async for answer in client.send_message(_saying(text, task))]
        answer = answers[-1]
        return _text(answer.parts) if isinstance(answer, Message) else _seen(answer[0])

    async def stream(self, text: str) -> Told:
        """Sends a text, and stays to the end."""
        return await _told(self._peer.streaming.send_message(_saying(text)))

    async def leave(self, text: str) -> str:
        """Sends a text, and leaves after the first event."""
        events = self._peer.streaming.send_message(_saying(text))
        first = await anext(aiter(events))
        await events.aclose()  # type: ignore[attr-defined]
        assert isinstance(first, tuple), first
        return first[0].id

    async def subscribe(self, task: str) -> Told:
        """Subscribes, and stays to the end."""
        return await _told(self._peer.streaming.resubscribe(TaskIdParams(id=task)))

    async def get(self, task: str) -> Seen:
        """Asks for a task."""
        return _seen(await _known(self._peer.unary.get_task(TaskQueryParams(id=task))))

    async def list(self, context: str) -> list[Seen]:
        """There is nothing to list tasks with."""
        raise NotImplementedError("A2A 0.3 has no ListTasks")

    async def cancel(self, task: str) -> Seen:
        """Cancels a task."""
        return _seen(await _known(self._peer.unary.cancel_task(TaskIdParams(id=task))))

    async def set_webhook(self, task: str, url: str, token: str) -> str:
        """Sets a webhook."""
        hook = PushNotificationConfig(id="hook", url=url, token=token)
        config = TaskPushNotificationConfig(task_id=task, push_notification_config=hook)
        return (await self._peer.unary.set_task_callback(config)).push_notification_config.url

    async def extended_card(self) -> str:
        """Asks for the extended card."""
        return (await self._peer.unary.get_card()).description


def _saying(text: str, task: Seen | None = None) -> Message:
    return Message(
        message_id=str(uuid.uuid4()),
        role=Role.user,
        parts=[Part(root=TextPart(text=text))],
        task_id=task.id if task else None,
        context_id=task.context if task else None,
    )


def _state(task: Task) -> str:
    return task.status.state.value.upper().replace("-", "_")


def _text(parts: list[Part]) -> str:
    return "".join(part.root.text for part in parts if isinstance(part.root, TextPart))


def _seen(task: Task) -> Seen:
    made = "".join(_text(artifact.parts) for artifact in task.artifacts or [])
    return Seen(task.id, task.context_id, _state(task), made)


async def _told(events: AsyncIterator[Message | tuple[Task, object]]) -> Told:
    """The SDK makes the whole task of the events."""
    task, states = None, []
    async for event in events:
        assert isinstance(event, tuple), event
        task = event[0]
        states.append(_state(task))
    assert task is not None, "no event"
    return Told(task.id, states, _seen(task).text)


async def _known(call: Awaitable[T]) -> T:
    try:
        return await call
    except A2AClientJSONRPCError as error:
        code: object = error.error.code
        said: Exception = error
    except A2AClientHTTPError as error:
        code, said = error.status_code, error
    except grpc.RpcError as error:
        code, said = error.code(), error
    raise RefusedError(NAMES.get(code, f"{code}")) from said


async def main(targets: list[str]) -> None:
    """Calls every agent."""
    for target in targets:
        way, url = target.split("=", 1)
        key = cases.key()
        headers = {"X-API-Key": key} if key and way == "direct" else {}
        async with httpx.AsyncClient(timeout=PATIENCE, headers=headers) as http:
            for binding in BINDINGS:
                # Callers of 0.3 have no word for the agent behind a shared gRPC endpoint.
                if way.startswith("hub") and binding == "GRPC":
                    continue
                client = Client(await connect(url, binding, http))
                await cases.check(client, "python-older", version("a2a-sdk"), way)


if __name__ == "__main__":
    # It warns of each piece that came while nobody was subscribed.
    logging.disable(logging.WARNING)
    asyncio.run(main(sys.argv[1:]))
