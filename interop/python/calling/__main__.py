"""Calls agents with the official Python SDK, on each binding in each version.

Usage: python -m calling WAY=URL...; reports what came of it, see matrix.report.
"""

import asyncio
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import TypeVar

from a2a.client import ClientCallContext
from a2a.client.auth import AuthInterceptor, CredentialService
from a2a.types import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import A2AError

from calling import cases
from calling.cases import RefusedError, Seen, Told
from live.peer import Peer, peers, state, states, texts

# Callers of 0.3 have no word for the agent behind a shared gRPC endpoint, as the hub's is.
UNCARRIED = {("GRPC", "0.3")}

T = TypeVar("T")


class Key(CredentialService):
    """The one key that there is, for whatever scheme the card declares."""

    async def get_credentials(
        self, security_scheme_name: str, context: ClientCallContext | None
    ) -> str | None:
        """Returns the key."""
        return cases.key()


class Client:
    """The SDK's own clients of a binding in a version."""

    def __init__(self, peer: Peer, proving: Peer) -> None:
        """Takes the clients, and those that prove who they are."""
        self.binding = peer.binding
        self.version = peer.version
        self._peer = peer
        self._proving = proving

    async def send(self, text: str, task: Seen | None = None, wait: bool = True) -> Seen | str:
        """Sends a text."""
        request = _saying(text, task)
        request.configuration.return_immediately = not wait
        with _refusals():
            answers = [answer async for answer in self._peer.unary.send_message(request)]
        if answers[-1].HasField("message"):
            return "".join(texts(answers[-1].message.parts))
        return _seen(answers[-1].task)

    async def stream(self, text: str) -> Told:
        """Sends a text, and stays to the end."""
        return await _told(self._peer.streaming.send_message(_saying(text)))

    async def leave(self, text: str) -> str:
        """Sends a text, and leaves after the first event."""
        events = self._peer.streaming.send_message(_saying(text))
        first = await anext(aiter(events))
        await events.aclose()  # type: ignore[attr-defined]
        return _task_of(first)

    async def subscribe(self, task: str) -> Told:
        """Subscribes, and stays to the end."""
        return await _told(self._peer.streaming.subscribe(SubscribeToTaskRequest(id=task)))

    async def get(self, task: str) -> Seen:
        """Asks for a task."""
        return _seen(await _known(self._peer.unary.get_task(GetTaskRequest(id=task))))

    async def list(self, context: str) -> list[Seen]:
        """Lists the tasks of a context."""
        page = await self._peer.unary.list_tasks(ListTasksRequest(context_id=context))
        return [_seen(task) for task in page.tasks]

    async def cancel(self, task: str) -> Seen:
        """Cancels a task."""
        return _seen(await _known(self._peer.unary.cancel_task(CancelTaskRequest(id=task))))

    async def set_webhook(self, task: str, url: str, token: str) -> str:
        """Sets a webhook."""
        config = TaskPushNotificationConfig(task_id=task, id="hook", url=url, token=token)
        return (await self._peer.unary.create_task_push_notification_config(config)).url

    async def extended_card(self) -> str:
        """Asks for the extended card."""
        asked = self._proving.unary.get_extended_agent_card(GetExtendedAgentCardRequest())
        return (await asked).description


def _saying(text: str, task: Seen | None = None) -> SendMessageRequest:
    message = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)])
    if task is not None:
        message.task_id = task.id
        message.context_id = task.context
    return SendMessageRequest(message=message, configuration=SendMessageConfiguration())


def _seen(task: Task) -> Seen:
    made = "".join(text for artifact in task.artifacts for text in texts(artifact.parts))
    return Seen(task.id, task.context_id, state(task), made)


async def _told(events: AsyncIterator[StreamResponse]) -> Told:
    heard = [event async for event in events]
    text = ""
    for event in heard:
        made = [event.artifact_update.artifact] if event.HasField("artifact_update") else []
        made += event.task.artifacts if event.HasField("task") else []
        text += "".join(text for artifact in made for text in texts(artifact.parts))
    return Told(_task_of(heard[0]), states(heard), text)


def _task_of(event: StreamResponse) -> str:
    return event.task.id or event.status_update.task_id or event.artifact_update.task_id


async def _known(call: Awaitable[T]) -> T:
    with _refusals():
        return await call


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except A2AError as error:
        raise RefusedError(type(error).__name__.removesuffix("Error")) from error


async def main(targets: list[str]) -> None:
    """Calls every agent."""
    for target in targets:
        way, url = target.split("=", 1)
        is_direct = way == "direct"
        missing = set() if is_direct else UNCARRIED
        proof = [AuthInterceptor(Key())] if is_direct else []
        async with peers(url, missing) as found, peers(url, missing, proof) as proving:
            for pair in zip(found, proving, strict=True):
                await cases.check(Client(*pair), "python", version("a2a-sdk"), way)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
