"""Messages of every type to send through the codec.

They are made from the SDK's own description of its types, and nothing here names a field: a
type or field that a later SDK adds is tried at once.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from plan import Dice, Least, Plan, build, set_field
from schema import is_alternative, is_required
from values import MOMENTS, NUMBERS, TEXTS, VALUES, WIDE

FULL = Plan(json={"key": [1, "two", {"three": None}]})


@dataclass(frozen=True)
class Sample:
    """A message and what is special about it."""

    name: str
    message: Message


def least(descriptor: Descriptor) -> Message:
    """Makes a message with nothing but what must be there."""
    return build(descriptor, Least())


def samples(descriptor: Descriptor) -> Iterator[Sample]:
    """Makes messages of a type, from bare to bulging, each only once."""
    seen = set()
    for sample in _samples(descriptor):
        body = sample.message.SerializeToString(deterministic=True)
        if body not in seen:
            seen.add(body)
            yield sample


def _samples(descriptor: Descriptor) -> Iterator[Sample]:
    yield Sample("least", least(descriptor))
    yield Sample("full", build(descriptor, FULL))
    for field in descriptor.fields:
        yield from _field_samples(descriptor, field)
    for name, text in TEXTS.items():
        yield Sample(f"text {name}", build(descriptor, replace(FULL, text=text)))
    for name, number in NUMBERS.items():
        yield Sample(f"number {name}", build(descriptor, replace(FULL, number=number)))
    for name, moment in MOMENTS.items():
        yield Sample(f"time {name}", build(descriptor, replace(FULL, moment=moment)))
    for name, value in VALUES.items():
        yield Sample(f"json {name}", build(descriptor, replace(FULL, json=value, prefer="data")))
    # Once a message is enough of it: the SDK takes long over large values.
    yield Sample("json wide", build(descriptor, Least(json=WIDE, prefer="data")))
    for seed in range(30):
        dice = random.Random(f"{descriptor.name} {seed}")
        yield Sample(f"random {seed}", build(descriptor, Dice(dice=dice)))


def _field_samples(descriptor: Descriptor, field: FieldDescriptor) -> Iterator[Sample]:
    alone = least(descriptor)
    set_field(alone, field, FULL)
    yield Sample(f"only {field.name}", alone)
    if is_alternative(field):
        among_others = build(descriptor, replace(FULL, prefer=field.name))
        yield Sample(f"full with {field.name}", among_others)
    if field.has_presence and not field.message_type:
        # Set to its default, which differs from not set.
        default = least(descriptor)
        setattr(default, field.name, field.default_value)
        yield Sample(f"default {field.name}", default)
    if field.enum_type:
        for value in field.enum_type.values:
            if value.number != 0 or not is_required(field):
                message = least(descriptor)
                setattr(message, field.name, value.number)
                yield Sample(f"{field.name} {value.name}", message)
