"""What is refused, and what the SDK makes of it."""

from collections.abc import AsyncIterator, Awaitable

from a2a.types import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import (
    ContentTypeNotSupportedError,
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

from live.peer import Peer, saying

NOBODY = Task(id="nobody-has-this", context_id="nor-this")


async def raises(kind: type[Exception], call: Awaitable[object]) -> None:
    """Requires that a call fails as the SDK says such failures do."""
    try:
        answer = await call
    except kind:
        return
    except Exception as other:
        raise AssertionError(f"not {kind.__name__} but {other!r}") from other
    raise AssertionError(f"not {kind.__name__} but {answer}")


async def an_unknown_task_is_not_found(peer: Peer) -> None:
    """Whatever is asked about it."""
    kind = TaskNotFoundError
    await raises(kind, peer.unary.get_task(GetTaskRequest(id=NOBODY.id)))
    await raises(kind, peer.unary.cancel_task(CancelTaskRequest(id=NOBODY.id)))
    await raises(kind, peer.send(saying("tck-complete-task", task=NOBODY)))
    config = TaskPushNotificationConfig(task_id=NOBODY.id, id="a", url="https://example.com/")
    await raises(kind, peer.unary.create_task_push_notification_config(config))


async def a_stream_of_an_unknown_task_is_refused(peer: Peer) -> None:
    """Before a stream opens, errors are the same as without one."""
    kind = TaskNotFoundError
    subscribe = SubscribeToTaskRequest(id=NOBODY.id)
    await raises(kind, _first(peer.streaming.subscribe(subscribe)))
    send = saying("tck-stream-001", task=NOBODY)
    await raises(kind, _first(peer.streaming.send_message(send)))


async def a_finished_task_stays_finished(peer: Peer) -> None:
    """It takes no message, no cancellation and no subscriber."""
    task = await peer.send(saying("tck-complete-task"))
    cancel = CancelTaskRequest(id=task.id)
    await raises(TaskNotCancelableError, peer.unary.cancel_task(cancel))
    subscribe = SubscribeToTaskRequest(id=task.id)
    kind = UnsupportedOperationError
    await raises(kind, _first(peer.streaming.subscribe(subscribe)))
    await raises(kind, peer.send(saying("tck-complete-task", task=task)))
    await raises(kind, peer.stream(saying("tck-complete-task", task=task)))


async def a_message_needs_parts(peer: Peer) -> None:
    """Bad parameters are told as such."""
    message = Message(message_id="tck-complete-task", role=Role.ROLE_USER)
    request = SendMessageRequest(message=message)
    await raises(InvalidParamsError, peer.send(request))


async def a_media_type_must_be_on_the_card(peer: Peer) -> None:
    """Parts that the agent does not take are refused."""
    part = Part(raw=b"x", media_type="application/x-unsupported-tck-type")
    await raises(ContentTypeNotSupportedError, peer.send(saying("tck-complete-task", part)))


async def there_is_no_extended_card(peer: Peer) -> None:
    """The card does not promise one, and whoever asks all the same is refused."""
    request = GetExtendedAgentCardRequest()
    await raises(UnsupportedOperationError, peer.credulous.get_extended_agent_card(request))


async def _first(events: AsyncIterator[StreamResponse]) -> StreamResponse:
    return await anext(aiter(events))


CASES = [
    an_unknown_task_is_not_found,
    a_stream_of_an_unknown_task_is_refused,
    a_finished_task_stays_finished,
    a_message_needs_parts,
    a_media_type_must_be_on_the_card,
    there_is_no_extended_card,
]
