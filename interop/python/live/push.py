"""Webhooks: their settings, and what is delivered."""

from typing import Any

from a2a.types import (
    AuthenticationInfo,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    StreamResponse,
    Task,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import TaskNotFoundError
from google.protobuf.json_format import ParseDict

from live.failures import raises
from live.peer import Peer, saying
from live.webhook import Delivery, Receiver, receiving

# Never called.
ELSEWHERE = "https://example.com/hook"


async def settings_are_kept(peer: Peer) -> None:
    """What is created can be read again, by the id that the caller chose."""
    task = await peer.send(saying("tck-input-required"))
    made = await _create(peer, task, "first", ELSEWHERE)
    assert (made.task_id, made.id, made.url) == (task.id, "first", ELSEWHERE), made
    get = GetTaskPushNotificationConfigRequest(task_id=task.id, id="first")
    kept = await peer.unary.get_task_push_notification_config(get)
    assert (kept.task_id, kept.id, kept.url) == (task.id, "first", ELSEWHERE), kept


async def settings_are_listed(peer: Peer) -> None:
    """All settings of a task are listed."""
    task = await peer.send(saying("tck-input-required"))
    for name in ("first", "second"):
        await _create(peer, task, name, ELSEWHERE)
    listed = await peer.unary.list_task_push_notification_configs(
        ListTaskPushNotificationConfigsRequest(task_id=task.id)
    )
    assert sorted(config.id for config in listed.configs) == ["first", "second"], listed


async def settings_are_deleted(peer: Peer) -> None:
    """What is deleted is gone; deleting it again does no harm."""
    task = await peer.send(saying("tck-input-required"))
    await _create(peer, task, "first", ELSEWHERE)
    delete = DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="first")
    await peer.unary.delete_task_push_notification_config(delete)
    await peer.unary.delete_task_push_notification_config(delete)
    get = GetTaskPushNotificationConfigRequest(task_id=task.id, id="first")
    await raises(TaskNotFoundError, peer.unary.get_task_push_notification_config(get))


async def a_webhook_is_called(peer: Peer) -> None:
    """A task tells its webhook how it ends, with the secrets that were given for it."""
    with receiving() as receiver:
        task = await peer.send(saying("tck-input-required"))
        await _create(peer, task, "hook", receiver.url)
        await peer.send(saying("tck-complete-task", task=task))
        await _expect_end(peer, receiver, task)


async def a_webhook_may_come_with_the_message(peer: Peer) -> None:
    """Settings inside a message count from its first event on."""
    with receiving() as receiver:
        request = saying("tck-complete-task")
        request.configuration.task_push_notification_config.CopyFrom(_config("hook", receiver.url))
        task = await peer.send(request)
        await _expect_end(peer, receiver, task)


def _config(name: str, url: str) -> TaskPushNotificationConfig:
    authentication = AuthenticationInfo(scheme="Bearer", credentials="s3cret")
    return TaskPushNotificationConfig(
        id=name, url=url, token="t0ken", authentication=authentication
    )


async def _create(peer: Peer, task: Task, name: str, url: str) -> TaskPushNotificationConfig:
    config = _config(name, url)
    config.task_id = task.id
    return await peer.unary.create_task_push_notification_config(config)


async def _expect_end(peer: Peer, receiver: Receiver, task: Task) -> None:
    """Waits until the webhook is told that the task is completed."""
    while True:
        delivery = await receiver.next()
        assert delivery.headers["authorization"] == "Bearer s3cret", delivery
        assert delivery.headers["x-a2a-notification-token"] == "t0ken", delivery
        if _completed(peer.version, delivery, task):
            return


def _completed(version: str, delivery: Delivery, task: Task) -> bool:
    """Reads a delivery as its version says: an event in 1.0, the task itself in 0.3."""
    body: dict[str, Any] = delivery.body
    if version == "0.3":
        assert (body["kind"], body["id"]) == ("task", task.id), body
        return bool(body["status"]["state"] == "completed")
    event = ParseDict(body, StreamResponse())
    update = event.task if event.HasField("task") else event.status_update
    assert task.id in (event.task.id, event.status_update.task_id), body
    return update.status.state == 3


CASES = [
    settings_are_kept,
    settings_are_listed,
    settings_are_deleted,
    a_webhook_is_called,
    a_webhook_may_come_with_the_message,
]
