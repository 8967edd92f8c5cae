"""One client of the SDK: a binding in a version."""

import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc.aio
import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.client.interceptors import ClientCallInterceptor
from a2a.types import (
    AgentCard,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskState,
)

BINDINGS = ["JSONRPC", "HTTP+JSON", "GRPC"]
VERSIONS = ["1.0", "0.3"]

# Where a card is that names one version alone: none for 1.0, which SDKs ask for by a header.
CARD_PATHS = {"1.0": None, "0.3": "/.well-known/agent.json"}

# Makes a client that streams, or one that does not.
Make = Callable[[AgentCard, bool], Client]

# Far longer than anything here takes.
PATIENCE = 30


@dataclass(frozen=True)
class Peer:
    """One client of the SDK, and what it found."""

    url: str
    binding: str
    version: str
    card: AgentCard
    # The SDK chooses by its settings whether to stream.
    unary: Client
    streaming: Client
    # Asks for a card that nobody promised.
    credulous: Client

    async def send(self, request: SendMessageRequest) -> Task:
        """Sends a message that becomes a task."""
        answers = [answer async for answer in self.unary.send_message(request)]
        assert len(answers) == 1, f"{len(answers)} answers"
        assert answers[0].HasField("task"), f"no task but {answers[0]}"
        return answers[0].task

    async def stream(self, request: SendMessageRequest) -> list[StreamResponse]:
        """Sends a message and returns every event of the stream."""
        return [event async for event in self.streaming.send_message(request)]


@asynccontextmanager
async def peers(
    url: str,
    missing: set[tuple[str, str]],
    interceptors: Sequence[ClientCallInterceptor] = (),
) -> AsyncIterator[list[Peer]]:
    """Makes a client for every binding and version but some, from the cards at a URL."""
    async with httpx.AsyncClient(timeout=PATIENCE) as http:
        found = []
        for version in VERSIONS:
            resolver = A2ACardResolver(http, url)
            card = await resolver.get_agent_card(CARD_PATHS[version])
            offered = [binding for binding in BINDINGS if (binding, version) not in missing]
            makes = {binding: _factory(binding, http, interceptors) for binding in offered}
            found += [_peer(url, binding, version, card, makes[binding]) for binding in offered]
        yield found
        for peer in found:
            for client in (peer.unary, peer.streaming, peer.credulous):
                await client.close()


def _factory(
    binding: str, http: httpx.AsyncClient, interceptors: Sequence[ClientCallInterceptor]
) -> Make:
    def make(card: AgentCard, streaming: bool) -> Client:
        config = ClientConfig(
            streaming=streaming,
            httpx_client=http,
            grpc_channel_factory=grpc.aio.insecure_channel,
            supported_protocol_bindings=[binding],
        )
        return ClientFactory(config).create(card, interceptors=list(interceptors))

    return make


def _peer(url: str, binding: str, version: str, card: AgentCard, make: Make) -> Peer:
    promising = AgentCard()
    promising.CopyFrom(card)
    promising.capabilities.extended_agent_card = True
    return Peer(
        url,
        binding,
        version,
        card,
        unary=make(card, False),
        streaming=make(card, True),
        credulous=make(promising, False),
    )


def saying(prefix: str, *parts: Part, task: Task | None = None) -> SendMessageRequest:
    """Returns a message that asks the agent for a scene."""
    message = Message(
        message_id=f"{prefix}-{uuid.uuid4()}",
        role=Role.ROLE_USER,
        parts=parts or [Part(text="Hello")],
    )
    if task is not None:
        message.task_id = task.id
        message.context_id = task.context_id
    return SendMessageRequest(message=message, configuration=SendMessageConfiguration())


def states(events: list[StreamResponse]) -> list[str]:
    """Returns the states that events tell of, without repetition."""
    told: list[str] = []
    for event in events:
        if event.HasField("task"):
            state = event.task.status.state
        elif event.HasField("status_update"):
            state = event.status_update.status.state
        else:
            continue
        name = TaskState.Name(state).removeprefix("TASK_STATE_")
        if told[-1:] != [name]:
            told.append(name)
    return told


def state(task: Task) -> str:
    """Returns the state of a task."""
    return TaskState.Name(task.status.state).removeprefix("TASK_STATE_")


def texts(parts: Iterable[Part]) -> list[str]:
    """Returns the texts of parts."""
    return [part.text for part in parts if part.HasField("text")]
