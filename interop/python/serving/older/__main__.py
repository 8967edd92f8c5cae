"""An agent on the last official Python SDK of A2A 0.3, on JSON-RPC, HTTP+JSON and gRPC.

Usage: python -m serving.older; prints `listening on URL`, ends when its input does.
"""

import asyncio
import uuid

import grpc.aio
from a2a.grpc.a2a_pb2_grpc import add_A2AServiceServicer_to_server
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.apps.jsonrpc import A2AStarletteApplication
from a2a.server.apps.rest.rest_adapter import RESTAdapter
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.request_handlers.grpc_handler import GrpcHandler
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
    TextPart,
)
from starlette.applications import Starlette
from starlette.routing import Route

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
                question = updater.new_agent_message([_part(step.text)])
                await updater.requires_input(question, final=True)
                return
            await updater.add_artifact(
                [_part(step.text)], artifact_id="out", append=step.append, last_chunk=step.last
            )
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Ends what is running."""
        await _updater(context, event_queue).cancel()


def _updater(context: RequestContext, event_queue: EventQueue) -> TaskUpdater:
    return TaskUpdater(event_queue, context.task_id or "", context.context_id or "")


def _part(text: str) -> Part:
    return Part(root=TextPart(text=text))


def _task(context: RequestContext) -> Task:
    return Task(
        id=context.task_id or "",
        context_id=context.context_id or "",
        status=TaskStatus(state=TaskState.submitted),
        history=[context.message] if context.message else [],
    )


def _message(context: RequestContext, text: str) -> Message:
    return Message(
        message_id=str(uuid.uuid4()),
        context_id=context.context_id,
        role=Role.agent,
        parts=[_part(text)],
    )


def _card(base: str, grpc_port: int) -> AgentCard:
    return AgentCard(
        name="older Python agent",
        description="does as it is told",
        version="1",
        protocol_version="0.3.0",
        url=f"{base}/rpc",
        preferred_transport="JSONRPC",
        additional_interfaces=[
            AgentInterface(transport="JSONRPC", url=f"{base}/rpc"),
            AgentInterface(transport="HTTP+JSON", url=f"{base}/rest"),
            AgentInterface(transport="GRPC", url=f"127.0.0.1:{grpc_port}"),
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        supports_authenticated_extended_card=True,
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="echo", name="echo", description="says it back", tags=["echo"])],
    )


async def main() -> None:
    """Serves the agent on all bindings."""
    opened = process.listener()
    grpc_server = grpc.aio.server()
    card = _card(process.url(opened), grpc_server.add_insecure_port("127.0.0.1:0"))
    extended = card.model_copy(update={"description": "does more for those it knows"})
    handler = DefaultRequestHandler(
        agent_executor=Agent(),
        task_store=InMemoryTaskStore(),
        push_config_store=InMemoryPushNotificationConfigStore(),
    )
    # On gRPC this SDK has one card for everybody: here the one that the others give on asking.
    servicer = GrpcHandler(extended, handler)
    # Generated without types.
    add_A2AServiceServicer_to_server(servicer, grpc_server)  # type: ignore[no-untyped-call]
    rest = RESTAdapter(card, handler, extended_agent_card=extended)
    routes = [
        *A2AStarletteApplication(card, handler, extended_agent_card=extended).routes(
            rpc_url="/rpc"
        ),
        *(
            Route(f"/rest{path}", endpoint, methods=[method])
            for (path, method), endpoint in rest.routes().items()
        ),
    ]
    await process.serve(Starlette(routes=routes), opened, grpc_server)


if __name__ == "__main__":
    asyncio.run(main())
