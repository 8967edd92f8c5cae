"""The types of A2A, as the SDK describes them."""

from typing import cast

from a2a.types import a2a_pb2
from google.api.field_behavior_pb2 import REQUIRED, field_behavior
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor


def message_types() -> list[Descriptor]:
    """Returns every message type."""
    return list(a2a_pb2.DESCRIPTOR.message_types_by_name.values())


def card_types() -> list[Descriptor]:
    """Returns the types that an agent card is made of."""
    found: list[Descriptor] = []
    rest = [a2a_pb2.DESCRIPTOR.message_types_by_name["AgentCard"]]
    while rest:
        descriptor = rest.pop()
        if descriptor not in found and descriptor.file.name == a2a_pb2.DESCRIPTOR.name:
            found.append(descriptor)
            rest += [field.message_type for field in descriptor.fields if field.message_type]
    return found


def is_required(field: FieldDescriptor) -> bool:
    """Tells whether A2A requires a field."""
    return REQUIRED in field.GetOptions().Extensions[field_behavior]


def is_map(field: FieldDescriptor) -> bool:
    """Tells whether a field is a map."""
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def is_alternative(field: FieldDescriptor) -> bool:
    """Tells whether a field is in a oneof, which an `optional` field alone is not."""
    oneof = field.containing_oneof
    return oneof is not None and oneof.name != f"_{field.name}"


def type_of(field: FieldDescriptor) -> Descriptor:
    """Returns the type of a field that is a message."""
    return cast(Descriptor, field.message_type)


def enum_of(field: FieldDescriptor) -> EnumDescriptor:
    """Returns the type of a field that is an enum."""
    return cast(EnumDescriptor, field.enum_type)
