"""The echo agent of the benchmarks on the official Python SDK.

Reads PORT, GRPC_PORT and STORE (memory) from the environment.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator

import grpc
import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Part,
    Task,
    TaskState,
    TaskStatus,
)
from a2a.types.a2a_pb2_grpc import add_A2AServiceServicer_to_server
from starlette.applications import Starlette

CHUNK = "0123456789abcdef" * 2


class Echo(AgentExecutor):
    """Says back what it hears."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Echo, stream or hold, as the text says."""
        task = Task(
            id=context.task_id or "",
            context_id=context.context_id or "",
            status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED),
            history=[context.message] if context.message else [],
        )
        await event_queue.enqueue_event(task)
        updater = _updater(context, event_queue)
        await updater.start_work()
        text = context.get_user_input()
        if text.startswith("hold"):
            await asyncio.Event().wait()
        if text.startswith("chunks:"):
            count = int(text.removeprefix("chunks:"))
            for index in range(count):
                await asyncio.sleep(0)
                await updater.add_artifact(
                    [Part(text=CHUNK)],
                    artifact_id="out",
                    append=index > 0,
                    last_chunk=index + 1 == count,
                )
        else:
            await updater.add_artifact([Part(text=text)], artifact_id="out", last_chunk=True)
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Say that it has ended."""
        await _updater(context, event_queue).cancel()


def _updater(context: RequestContext, event_queue: EventQueue) -> TaskUpdater:
    return TaskUpdater(event_queue, context.task_id or "", context.context_id or "")


def serve(port: int, grpc_port: int) -> None:
    """Serve until the process is ended."""
    card = AgentCard(
        name="echo",
        description="says it back",
        version="1",
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        capabilities=AgentCapabilities(streaming=True),
        supported_interfaces=[
            AgentInterface(
                protocol_binding="JSONRPC",
                protocol_version="1.0",
                url=f"http://127.0.0.1:{port}/",
            )
        ],
        skills=[AgentSkill(id="echo", name="echo", description="says it back", tags=["echo"])],
    )
    handler = DefaultRequestHandler(
        agent_executor=Echo(), task_store=InMemoryTaskStore(), agent_card=card
    )

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        server = grpc.aio.server()
        # Generated without types.
        add_A2AServiceServicer_to_server(GrpcHandler(handler), server)  # type: ignore[no-untyped-call]
        server.add_insecure_port(f"127.0.0.1:{grpc_port}")
        await server.start()
        yield

    routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, rpc_url="/")]
    uvicorn.run(
        Starlette(routes=routes, lifespan=lifespan),
        host="127.0.0.1",
        port=port,
        log_level="warning",
        access_log=False,
        backlog=4096,
    )


if __name__ == "__main__":
    if os.environ.get("STORE", "memory") != "memory":
        sys.exit("this agent keeps its tasks in memory only")
    serve(int(os.environ["PORT"]), int(os.environ["GRPC_PORT"]))
