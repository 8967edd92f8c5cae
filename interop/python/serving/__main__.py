"""An agent on the official Python SDK, on JSON-RPC, HTTP+JSON and gRPC, in A2A 1.0.

Usage: python -m serving; prints `listening on URL`, ends when its input does.
"""

import asyncio
import copy
import uuid

import grpc.aio
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.request_handlers.grpc_handler import GrpcHandler
from a2a.server.routes import (
    create_agent_card_routes,
    create_jsonrpc_routes,
    create_rest_routes,
)
from a2a.server.tasks import (
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Message,
    Part,
    Role,
    Task,
    TaskState,
    TaskStatus,
)
from a2a.types.a2a_pb2_grpc import add_A2AServiceServicer_to_server
from starlette.applications import Starlette

from serving import process, script


class Agent(AgentExecutor):
    """Does what the script says."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Runs one turn."""
        text = context.get_user_input()
        script.hear(text)
        said = script.message_in(text)
        if said is not None:
            await event_queue.enqueue_event(_message(context, said))
            return
        if context.current_task is None:
            await event_queue.enqueue_event(_task(context))
        updater = _updater(context, event_queue)
        await updater.start_work()
        async for step in script.steps(text):
            if isinstance(step, script.Ask):
                await updater.requires_input(updater.new_agent_message([Part(text=step.text)]))
                return
            await updater.add_artifact(
                [Part(text=step.text)], artifact_id="out", append=step.append, last_chunk=step.last
            )
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Ends what is running."""
        await _updater(context, event_queue).cancel()


def _updater(context: RequestContext, event_queue: EventQueue) -> TaskUpdater:
    return TaskUpdater(event_queue, context.task_id or "", context.context_id or "")


def _task(context: RequestContext) -> Task:
    return Task(
        id=context.task_id or "",
        context_id=context.context_id or "",
        status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED),
        history=[context.message] if context.message else [],
    )


def _message(context: RequestContext, text: str) -> Message:
    return Message(
        message_id=str(uuid.uuid4()),
        context_id=context.context_id or "",
        role=Role.ROLE_AGENT,
        parts=[Part(text=text)],
    )


def _card(base: str, grpc_port: int) -> AgentCard:
    interfaces = [
        ("JSONRPC", f"{base}/rpc"),
        ("HTTP+JSON", f"{base}/rest"),
        ("GRPC", f"127.0.0.1:{grpc_port}"),
    ]
    return AgentCard(
        name="Python agent",
        description="does as it is told",
        version="1",
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding=binding, protocol_version="1.0")
            for binding, url in interfaces
        ],
        capabilities=AgentCapabilities(
            streaming=True, push_notifications=True, extended_agent_card=True
        ),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="echo", name="echo", description="says it back", tags=["echo"])],
    )


async def main() -> None:
    """Serves the agent on all bindings."""
    opened = process.listener()
    grpc_server = grpc.aio.server()
    card = _card(process.url(opened), grpc_server.add_insecure_port("127.0.0.1:0"))
    extended = copy.deepcopy(card)
    extended.description = "does more for those it knows"
    handler = DefaultRequestHandler(
        agent_executor=Agent(),
        task_store=InMemoryTaskStore(),
        agent_card=card,
        push_config_store=InMemoryPushNotificationConfigStore(),
        extended_agent_card=extended,
    )
    # Generated without types.
    add_A2AServiceServicer_to_server(GrpcHandler(handler), grpc_server)  # type: ignore[no-untyped-call]
    routes = [
        *create_agent_card_routes(card),
        *create_jsonrpc_routes(handler, "/rpc"),
        *create_rest_routes(handler, path_prefix="/rest"),
    ]
    await process.serve(Starlette(routes=routes), opened, grpc_server)


if __name__ == "__main__":
    asyncio.run(main())
