"""What a client does with the tools."""

import asyncio
from typing import Any

from mcp import Client
from mcp_types import CallToolResult

from delegating.hub import Hub

TOOLS = {
    "list_agents",
    "delegate_to_a2a_agent",
    "delegate_async",
    "task_status",
    "reply",
    "cancel",
}


async def call(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """Calls a tool that must succeed, and returns its structured content."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, texts(result)
    return structured(result)


def structured(result: CallToolResult) -> dict[str, Any]:
    """Returns the structured content, which the SDK has checked against the tool's schema."""
    content = result.structured_content
    assert isinstance(content, dict), result
    return content


def texts(result: CallToolResult) -> str:
    """Returns all words of an answer."""
    return "\n".join(block.text for block in result.content if block.type == "text")


async def tools_are_listed(client: Client, _: Hub) -> None:
    """All tools are there, with schemas of what they take and give."""
    listed = (await client.list_tools()).tools
    assert {tool.name for tool in listed} >= TOOLS, listed
    assert all(tool.input_schema["type"] == "object" for tool in listed)
    assert all(tool.output_schema for tool in listed)


async def agents_are_found(client: Client, _: Hub) -> None:
    """Agents are found by what they can do."""
    found = await call(client, "list_agents", capability="writing")
    assert [agent["name"] for agent in found["agents"]] == ["writer"], found
    found = await call(client, "list_agents", search="0.3")
    assert [agent["name"] for agent in found["agents"]] == ["legacy"], found


async def work_is_done(client: Client, _: Hub) -> None:
    """The result has the agent's artifact, and names the agent as its source."""
    result = await client.call_tool("delegate_to_a2a_agent", {"agent": "echo", "task": "hello"})
    report = structured(result)
    assert (report["agent_name"], report["status"]) == ("echo", "completed"), report
    assert report["artifacts"][0]["content"] == "hello", report
    assert "written by agent echo" in texts(result), texts(result)


async def agents_of_0_3_are_reached(client: Client, _: Hub) -> None:
    """The hub speaks 0.3 for us."""
    report = await call(client, "delegate_to_a2a_agent", agent="~summary", task="a story")
    assert report["agent_name"] == "legacy", report
    assert report["artifacts"][0]["content"] == "In short: a story", report


async def long_work_is_told_of(client: Client, _: Hub) -> None:
    """Progress comes while the agent works, and goes up."""
    told: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    order = {"agent": "writer", "task": "otters quickly"}
    result = await client.call_tool("delegate_to_a2a_agent", order, progress_callback=note)
    assert "So much for otters." in structured(result)["artifacts"][0]["content"], result
    assert len(told) >= 3, told
    assert told == sorted(set(told)), told


async def questions_are_answered(client: Client, _: Hub) -> None:
    """A task that asks goes on with the answer, under the same id."""
    asked = await call(client, "delegate_to_a2a_agent", agent="approver", task="buy a boat")
    assert asked["status"] == "input-required", asked
    done = await call(client, "reply", task_id=asked["task_id"], message="yes")
    assert (done["status"], done["task_id"]) == ("completed", asked["task_id"]), done
    asked = await call(client, "delegate_to_a2a_agent", agent="approver", task="sell it")
    arguments = {"task": "no", "task_id": asked["task_id"]}
    denied = await client.call_tool("delegate_to_a2a_agent", arguments)
    assert denied.is_error, denied
    assert structured(denied)["status"] == "failed", denied


async def failures_are_errors(client: Client, _: Hub) -> None:
    """One of three calls fails, and says so."""
    order = {"agent": "flaky", "task": "try"}
    results = [await client.call_tool("delegate_to_a2a_agent", order) for _ in range(3)]
    assert [result.is_error for result in results].count(True) == 1, results
    unknown = await client.call_tool("delegate_to_a2a_agent", {"agent": "nobody", "task": "x"})
    assert unknown.is_error, unknown


async def work_goes_on_alone(client: Client, _: Hub) -> None:
    """Work that nobody waits for is looked at later, or ended."""
    begun = await call(client, "delegate_async", agent="writer", task="voles quickly")
    done = await call(client, "task_status", task_id=begun["task_id"], wait_seconds=60)
    assert done["status"] == "completed", done
    begun = await call(client, "delegate_async", agent="writer", task="shrews")
    ended = await call(client, "cancel", task_id=begun["task_id"])
    assert ended["status"] == "canceled", ended


async def requests_that_are_given_up_end_their_tasks(client: Client, hub: Hub) -> None:
    """The task of a cancelled request is cancelled."""
    begun = asyncio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        begun.set()

    before = len(canceled(hub))
    order = {"agent": "writer", "task": "moles"}
    calling = asyncio.create_task(
        client.call_tool("delegate_to_a2a_agent", order, progress_callback=note)
    )
    await begun.wait()
    calling.cancel()
    while len(await asyncio.to_thread(canceled, hub)) == before:
        await asyncio.sleep(0.05)


def canceled(hub: Hub) -> list[Any]:
    """Returns the tasks of the writer that were cancelled."""
    tasks: list[Any] = hub.get("/api/v1/tasks?agent=writer&state=canceled&limit=200")["tasks"]
    return tasks


CASES = [
    tools_are_listed,
    agents_are_found,
    work_is_done,
    agents_of_0_3_are_reached,
    long_work_is_told_of,
    questions_are_answered,
    failures_are_errors,
    work_goes_on_alone,
    requests_that_are_given_up_end_their_tasks,
]


async def skills_are_tools(client: Client, _: Hub) -> None:
    """Each skill of each agent is a tool of its own, for clients that want that."""
    names = {tool.name for tool in (await client.list_tools()).tools}
    assert names >= TOOLS | {"echo__echo", "team-lead__coordinate"}, names
    report = await call(client, "team-lead__coordinate", task="one two three")
    text = "team-a: 3 words\nteam-b: three two one"
    assert report["artifacts"][0]["content"] == text, report
