"""Messages and what becomes of them."""

import asyncio

from a2a.types import GetTaskRequest, Part
from google.protobuf.json_format import ParseDict

from live.peer import Peer, saying, state, texts


async def a_message_becomes_a_task(peer: Peer) -> None:
    """The answer is the finished task with what the agent made."""
    task = await peer.send(saying("tck-artifact-text"))
    assert state(task) == "COMPLETED", task
    assert task.context_id
    assert [texts(artifact.parts) for artifact in task.artifacts] == [["Generated text content"]]


async def a_status_has_its_message(peer: Peer) -> None:
    """What the agent says at the end is told with the status."""
    task = await peer.send(saying("tck-complete-task"))
    assert texts(task.status.message.parts) == ["Hello from TCK"], task
    assert task.status.HasField("timestamp")


async def a_message_may_be_answered_without_a_task(peer: Peer) -> None:
    """A reply is a message."""
    answers = [event async for event in peer.unary.send_message(saying("tck-message-response"))]
    assert [texts(answer.message.parts) for answer in answers] == [["Direct message response"]]


async def files_and_data_come_back(peer: Peer) -> None:
    """Each kind of part is what the agent made."""
    file = (await peer.send(saying("tck-artifact-file"))).artifacts[0].parts[0]
    assert (file.raw, file.filename, file.media_type) == (b"tck", "output.txt", "text/plain"), file
    link = (await peer.send(saying("tck-artifact-file-url"))).artifacts[0].parts[0]
    assert link.url == "https://example.com/output.txt", link
    assert (link.filename, link.media_type) == ("output.txt", "text/plain"), link
    data = (await peer.send(saying("tck-artifact-data"))).artifacts[0].parts[0]
    assert data.data == ParseDict({"data": {"key": "value", "count": 42}}, Part()).data, data


async def files_and_data_are_kept(peer: Peer) -> None:
    """What is sent is in the history as it was sent."""
    sent = [
        Part(text="Ünïcode \u2028 und \U0001f600"),
        Part(raw=bytes(range(256)), filename="bytes.bin", media_type="application/octet-stream"),
        Part(url="https://example.com/in.txt", filename="in.txt", media_type="text/plain"),
        ParseDict({"data": {"deep": [1, None, {"x": 0.5}]}}, Part()),
    ]
    task = await peer.send(saying("tck-complete-task", *sent))
    kept = await peer.unary.get_task(GetTaskRequest(id=task.id))
    assert list(kept.history[0].parts) == sent, kept.history[0].parts


async def a_caller_need_not_wait(peer: Peer) -> None:
    """A task that is still at work is returned at once, and can be asked for until it ends."""
    request = saying("slow")
    request.configuration.return_immediately = True
    task = await peer.send(request)
    assert state(task) in ("SUBMITTED", "WORKING"), task
    for _ in range(200):
        task = await peer.unary.get_task(GetTaskRequest(id=task.id))
        if state(task) == "COMPLETED":
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"still {state(task)}")


async def a_task_may_ask_and_go_on(peer: Peer) -> None:
    """A second message goes on with the task, and both are in its history."""
    first = saying("tck-input-required", Part(text="one"))
    task = await peer.send(first)
    assert state(task) == "INPUT_REQUIRED", task
    assert texts(task.status.message.parts) == ["Go on?"]
    done = await peer.send(saying("tck-complete-task", Part(text="two"), task=task))
    assert (done.id, done.context_id) == (task.id, task.context_id)
    assert state(done) == "COMPLETED", done
    kept = await peer.unary.get_task(GetTaskRequest(id=task.id))
    said = [texts(message.parts)[0] for message in kept.history if message.role == 1]
    assert said == ["one", "two"], kept.history


async def history_is_cut_to_length(peer: Peer) -> None:
    """Only the last messages come, if so many are asked for."""
    task = await peer.send(saying("tck-input-required", Part(text="one")))
    await peer.send(saying("tck-complete-task", Part(text="two"), task=task))
    last = await peer.unary.get_task(GetTaskRequest(id=task.id, history_length=1))
    assert len(last.history) == 1, last.history


async def a_task_may_fail(peer: Peer) -> None:
    """Failure and rejection are states of a task, not of the call."""
    assert state(await peer.send(saying("tck-task-failure"))) == "FAILED"
    assert state(await peer.send(saying("tck-reject-task"))) == "REJECTED"


async def a_context_may_be_chosen(peer: Peer) -> None:
    """Tasks belong to the context that the caller names."""
    request = saying("tck-complete-task")
    request.message.context_id = f"ours-{request.message.message_id}"
    assert (await peer.send(request)).context_id == request.message.context_id


CASES = [
    a_message_becomes_a_task,
    a_status_has_its_message,
    a_message_may_be_answered_without_a_task,
    files_and_data_come_back,
    files_and_data_are_kept,
    a_caller_need_not_wait,
    a_task_may_ask_and_go_on,
    history_is_cut_to_length,
    a_task_may_fail,
    a_context_may_be_chosen,
]
