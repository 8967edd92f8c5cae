"""One client of the last SDK of A2A 0.3: a binding."""

from dataclasses import dataclass

import grpc.aio
import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.types import (
    Message,
    Task,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)

BINDINGS = ["JSONRPC", "HTTP+JSON", "GRPC"]

Event = TaskStatusUpdateEvent | TaskArtifactUpdateEvent | None


@dataclass(frozen=True)
class Peer:
    """One client of the SDK, which chooses by its settings whether to stream."""

    binding: str
    unary: Client
    streaming: Client
    # Does not wait for the end of a task.
    polling: Client

    async def send(self, message: Message) -> Task:
        """Sends a message that becomes a task."""
        async for answer in self.unary.send_message(message):
            assert isinstance(answer, tuple), answer
            return answer[0]
        raise AssertionError("no answer")

    async def stream(self, message: Message) -> list[tuple[Task, Event]]:
        """Sends a message and returns every event, each with the task that it makes."""
        events = []
        async for answer in self.streaming.send_message(message):
            assert isinstance(answer, tuple), answer
            events.append(answer)
        return events


async def connect(url: str, binding: str, http: httpx.AsyncClient) -> Peer:
    """Makes the clients of a binding."""
    card = await A2ACardResolver(http, url).get_agent_card()

    def client(streaming: bool = False, polling: bool = False) -> Client:
        config = ClientConfig(
            streaming=streaming,
            polling=polling,
            httpx_client=http,
            grpc_channel_factory=grpc.aio.insecure_channel,
            supported_transports=[binding],
        )
        return ClientFactory(config).create(card)

    return Peer(binding, client(), client(streaming=True), client(polling=True))
