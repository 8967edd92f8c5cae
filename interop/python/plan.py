"""How a message is filled."""

import dataclasses
import random

from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

from schema import enum_of, is_alternative, is_map, is_required, type_of
from values import MOMENTS, TEXTS, VALUES, Json

Scalar = str | int | bool | bytes


@dataclasses.dataclass(frozen=True)
class Plan:
    """Sets every field, to these values."""

    text: str = "some text"
    number: int = 7
    json: Json = None
    moment: tuple[int, int] = MOMENTS["milliseconds"]
    # The member of a oneof to choose, where it has one of this name.
    prefer: str = ""

    def sets(self, field: FieldDescriptor) -> bool:
        """Tells whether to set a field that is not in a oneof."""
        return True

    def member(self, oneof: OneofDescriptor) -> FieldDescriptor:
        """Chooses the member of a oneof."""
        preferred = (field for field in oneof.fields if field.name == self.prefer)
        return next(preferred, oneof.fields[0])

    def count(self) -> int:
        """Tells how many elements to put into a list."""
        return 2

    def scalar(self, field: FieldDescriptor) -> Scalar:
        """Makes the value of a field that is no message."""
        match field.type:
            case FieldDescriptor.TYPE_STRING:
                return self.text
            case FieldDescriptor.TYPE_BYTES:
                return bytes(range(256))
            case FieldDescriptor.TYPE_BOOL:
                return True
            case FieldDescriptor.TYPE_INT32:
                return self.number
            case FieldDescriptor.TYPE_ENUM:
                return enum_of(field).values[-1].number
        raise NotImplementedError(f"{field.full_name} has type {field.type}")

    def any_json(self) -> Json:
        """Makes any JSON value."""
        return self.json

    def timestamp(self) -> Timestamp:
        """Makes a moment."""
        return Timestamp(seconds=self.moment[0], nanos=self.moment[1])


class Least(Plan):
    """Sets only what must be there."""

    def sets(self, field: FieldDescriptor) -> bool:
        """Tells whether to set a field that is not in a oneof."""
        return is_required(field)

    def count(self) -> int:
        """Tells how many elements to put into a list."""
        return 1


@dataclasses.dataclass(frozen=True)
class Dice(Plan):
    """Sets what the dice say, to what the dice say."""

    dice: random.Random = dataclasses.field(default_factory=random.Random)

    def sets(self, field: FieldDescriptor) -> bool:
        """Tells whether to set a field that is not in a oneof."""
        return is_required(field) or self.dice.random() < 0.5

    def member(self, oneof: OneofDescriptor) -> FieldDescriptor:
        """Chooses the member of a oneof."""
        return self.dice.choice(oneof.fields)

    def count(self) -> int:
        """Tells how many elements to put into a list."""
        return self.dice.randint(1, 3)

    def scalar(self, field: FieldDescriptor) -> Scalar:
        """Makes the value of a field that is no message."""
        match field.type:
            case FieldDescriptor.TYPE_STRING:
                return self.dice.choice(list(TEXTS.values()))
            case FieldDescriptor.TYPE_BYTES:
                return self.dice.randbytes(self.dice.randint(0, 5))
            case FieldDescriptor.TYPE_BOOL:
                return self.dice.random() < 0.5
            case FieldDescriptor.TYPE_INT32:
                return self.dice.randint(-(2**31), 2**31 - 1)
            case FieldDescriptor.TYPE_ENUM:
                # Not the first, which means that there is none.
                return self.dice.choice([value.number for value in enum_of(field).values[1:]])
        return super().scalar(field)

    def any_json(self) -> Json:
        """Makes any JSON value."""
        return self.dice.choice(list(VALUES.values()))

    def timestamp(self) -> Timestamp:
        """Makes a moment."""
        seconds, nanos = self.dice.choice(list(MOMENTS.values()))
        return Timestamp(seconds=seconds, nanos=nanos)


def build(descriptor: Descriptor, plan: Plan) -> Message:
    """Makes a message."""
    message = GetMessageClass(descriptor)()
    for oneof in descriptor.oneofs:
        if is_alternative(oneof.fields[0]):
            set_field(message, plan.member(oneof), plan)
    for field in descriptor.fields:
        if not is_alternative(field) and plan.sets(field):
            set_field(message, field, plan)
    return message


def set_field(message: Message, field: FieldDescriptor, plan: Plan) -> None:
    """Sets one field of a message."""
    target = getattr(message, field.name)
    if is_map(field):
        value_field = type_of(field).fields_by_name["value"]
        for index in range(plan.count()):
            key = f"{index} {plan.text}"
            if value_field.message_type:
                target[key].CopyFrom(_submessage(value_field, plan))
            else:
                target[key] = plan.scalar(value_field)
    elif field.is_repeated:
        for _ in range(plan.count()):
            target.append(_submessage(field, plan) if field.message_type else plan.scalar(field))
    elif field.message_type:
        target.CopyFrom(_submessage(field, plan))
    else:
        setattr(message, field.name, plan.scalar(field))


def _submessage(field: FieldDescriptor, plan: Plan) -> Message:
    match type_of(field).full_name:
        case "google.protobuf.Value":
            return ParseDict(plan.any_json(), Value())
        case "google.protobuf.Struct":
            return ParseDict({"value": plan.any_json()}, Struct())
        case "google.protobuf.Timestamp":
            return plan.timestamp()
    return build(type_of(field), plan)
