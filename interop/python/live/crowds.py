"""Many at once."""

import asyncio

from live.peer import Peer, saying, state, states


async def a_hundred_send_at_once(peer: Peer) -> None:
    """Each gets its own task."""
    tasks = await asyncio.gather(*(peer.send(saying("tck-artifact-text")) for _ in range(100)))
    assert len({task.id for task in tasks}) == 100
    assert {state(task) for task in tasks} == {"COMPLETED"}


async def fifty_stream_at_once(peer: Peer) -> None:
    """All are open together, and each gets its own events to the end."""
    streams = await asyncio.gather(*(peer.stream(saying("slow")) for _ in range(50)))
    assert len({events[0].task.id for events in streams}) == 50
    assert {states(events)[-1] for events in streams} == {"COMPLETED"}


CASES = [a_hundred_send_at_once, fifty_stream_at_once]
