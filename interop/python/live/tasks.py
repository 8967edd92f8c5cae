"""Tasks after they were sent: listed, cancelled; and the cards."""

import uuid

from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    TaskState,
)

from live.peer import Peer, saying, state


async def the_card_is_found(peer: Peer) -> None:
    """The SDK reads the card, and finds this binding in this version on it."""
    ways = {(way.protocol_binding, way.protocol_version) for way in peer.card.supported_interfaces}
    assert any(
        binding == peer.binding and version.startswith(peer.version) for binding, version in ways
    ), ways
    assert peer.card.name == "conformance"
    assert peer.card.capabilities.streaming
    assert peer.card.capabilities.push_notifications
    assert [skill.id for skill in peer.card.skills] == ["tck"]


async def a_task_is_cancelled(peer: Peer) -> None:
    """The answer is the cancelled task, and so it stays."""
    request = saying("tck-cancel")
    request.configuration.return_immediately = True
    task = await peer.send(request)
    cancelled = await peer.unary.cancel_task(CancelTaskRequest(id=task.id))
    assert state(cancelled) == "CANCELED", cancelled
    kept = await peer.unary.get_task(GetTaskRequest(id=task.id))
    assert state(kept) == "CANCELED", kept


async def tasks_are_listed_by_page(peer: Peer) -> None:
    """Pages of a context, the newest task first, give every task once."""
    context = str(uuid.uuid4())
    sent = []
    for _ in range(5):
        request = saying("tck-artifact-text")
        request.message.context_id = context
        sent.append((await peer.send(request)).id)
    listed: list[str] = []
    page = ListTasksRequest(context_id=context, page_size=2)
    sizes = []
    while True:
        answer = await peer.unary.list_tasks(page)
        assert answer.total_size == 5, answer
        assert not any(task.artifacts for task in answer.tasks)
        sizes.append(len(answer.tasks))
        listed += [task.id for task in answer.tasks]
        if not answer.next_page_token:
            break
        page.page_token = answer.next_page_token
    assert sizes == [2, 2, 1], sizes
    assert listed == sent[::-1], (listed, sent)


async def tasks_are_listed_by_state(peer: Peer) -> None:
    """Only tasks in the state come, with what was asked for."""
    context = str(uuid.uuid4())
    for scene in ("tck-artifact-text", "tck-input-required", "tck-task-failure"):
        request = saying(scene)
        request.message.context_id = context
        await peer.send(request)
    answer = await peer.unary.list_tasks(
        ListTasksRequest(
            context_id=context,
            status=TaskState.TASK_STATE_COMPLETED,
            include_artifacts=True,
            history_length=0,
        )
    )
    assert [state(task) for task in answer.tasks] == ["COMPLETED"], answer
    assert len(answer.tasks[0].artifacts) == 1
    assert not answer.tasks[0].history


CASES = [
    the_card_is_found,
    a_task_is_cancelled,
    tasks_are_listed_by_page,
    tasks_are_listed_by_state,
]
