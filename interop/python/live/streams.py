"""Streams: what they tell, and who may listen."""

from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    Part,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
)

from live.peer import Peer, saying, state, states, texts


async def a_stream_tells_a_task_from_start_to_end(peer: Peer) -> None:
    """It begins with the task and ends with its last state; the artifact is in between."""
    events = await peer.stream(saying("tck-stream-001"))
    assert events[0].HasField("task"), events[0]
    assert states(events)[-2:] == ["WORKING", "COMPLETED"], states(events)
    made = [event.artifact_update for event in events if event.HasField("artifact_update")]
    assert [texts(update.artifact.parts) for update in made] == [["Stream hello from TCK"]]
    ids = {update.task_id for update in made} | {events[0].task.id}
    assert len(ids) == 1, ids
    assert events[-1].status_update.context_id == events[0].task.context_id


async def an_artifact_comes_in_chunks(peer: Peer) -> None:
    """The second chunk is appended to the first, and is the last."""
    events = await peer.stream(saying("tck-stream-artifact-chunked"))
    made = [event.artifact_update for event in events if event.HasField("artifact_update")]
    told = [(texts(update.artifact.parts), update.append, update.last_chunk) for update in made]
    assert told == [(["chunk-1 "], False, False), (["chunk-2"], True, True)], told
    assert made[0].artifact.artifact_id == made[1].artifact.artifact_id
    task = await peer.unary.get_task(GetTaskRequest(id=made[0].task_id))
    assert "".join(texts(task.artifacts[0].parts)) == "chunk-1 chunk-2", task


async def a_reply_is_a_stream_of_one(peer: Peer) -> None:
    """A reply without a task is the only event."""
    events = await peer.stream(saying("tck-message-response"))
    assert [texts(event.message.parts) for event in events] == [["Direct message response"]]


async def a_stream_ends_when_the_task_asks(peer: Peer) -> None:
    """Whoever has sent the message must answer first, so the stream ends; another goes on."""
    events = await peer.stream(saying("tck-input-required"))
    assert states(events)[-1] == "INPUT_REQUIRED", events
    task = events[0].task
    more = await peer.stream(saying("tck-stream-001", Part(text="Go on"), task=task))
    assert more[0].task.id == task.id, more[0]
    assert states(more)[-1] == "COMPLETED", more


async def subscribers_see_a_task_end(peer: Peer) -> None:
    """Several who subscribe while a task is at work see the task, then how it is cancelled."""
    sent = aiter(peer.streaming.send_message(saying("tck-cancel")))
    task = (await anext(sent)).task
    subscribe = SubscribeToTaskRequest(id=task.id)
    streams = [aiter(peer.streaming.subscribe(subscribe)) for _ in range(3)]
    for stream in streams:
        assert (await anext(stream)).task.id == task.id
    await peer.unary.cancel_task(CancelTaskRequest(id=task.id))
    for stream in [sent, *streams]:
        events = [event async for event in stream]
        assert states(events)[-1] == "CANCELED", events


async def a_dropped_stream_is_taken_up_again(peer: Peer) -> None:
    """A task goes on without its listener, who can come back."""
    stream = peer.streaming.send_message(saying("slow"))
    first = await anext(aiter(stream))
    await stream.aclose()  # type: ignore[attr-defined]
    events = await _listen(peer, first.task)
    assert events[0].task.id == first.task.id, events[0]
    assert states(events)[-1] == "COMPLETED", events


async def a_subscriber_hears_what_a_later_message_does(peer: Peer) -> None:
    """A subscription to a task that asks stays open until the task has ended."""
    task = await peer.send(saying("tck-input-required"))
    stream = aiter(peer.streaming.subscribe(SubscribeToTaskRequest(id=task.id)))
    first = await anext(stream)
    assert state(first.task) == "INPUT_REQUIRED", first
    await peer.send(saying("tck-artifact-text", task=task))
    rest = [event async for event in stream]
    assert states(rest)[-1] == "COMPLETED", rest
    assert any(event.HasField("artifact_update") for event in rest), rest


async def _listen(peer: Peer, task: Task) -> list[StreamResponse]:
    """Subscribes, and stays to the end."""
    return [event async for event in peer.streaming.subscribe(SubscribeToTaskRequest(id=task.id))]


CASES = [
    a_stream_tells_a_task_from_start_to_end,
    an_artifact_comes_in_chunks,
    a_reply_is_a_stream_of_one,
    a_stream_ends_when_the_task_asks,
    subscribers_see_a_task_end,
    a_dropped_stream_is_taken_up_again,
    a_subscriber_hears_what_a_later_message_does,
]
