"""What the SDK writes comes back from our codec unchanged, in every form."""

from collections.abc import Iterator
from difflib import unified_diff
from typing import Any

from google.protobuf.json_format import MessageToJson, Parse
from google.protobuf.message import Message

from codec import Codec
from outcome import Outcome
from samples import samples
from schema import message_types

# The ways in which ProtoJSON may be written.
SPELLINGS: dict[str, dict[str, Any]] = {
    "json": {"indent": None},
    "json indented": {"indent": 2},
    "json in snake case": {"preserving_proto_field_name": True},
    "json with enums as numbers": {"use_integers_for_enums": True},
    "json with defaults": {"always_print_fields_with_no_presence": True},
}


def outcomes(codec: Codec) -> Iterator[Outcome]:
    """Sends every sample of every type through the codec, in every form."""
    for descriptor in message_types():
        for sample in samples(descriptor):
            for form in [*SPELLINGS, "json to proto", "proto to json", "proto"]:
                problem = _problem(codec, form, sample.message)
                yield Outcome(f"{descriptor.name}, {sample.name}, {form}", problem)


def _problem(codec: Codec, form: str, message: Message) -> str | None:
    try:
        found = _convert(codec, form, message)
    except Exception as error:  # Whatever goes wrong is what we are here to find.
        return f"{type(error).__name__}: {error}"
    if found == message:
        return None
    sent, back = str(message).splitlines(), str(found).splitlines()
    return "\n".join(["changed", *unified_diff(sent, back, "sent", "came back", n=1, lineterm="")])


def _convert(codec: Codec, form: str, message: Message) -> Message:
    kind, name = type(message), message.DESCRIPTOR.name
    match form:
        case "json to proto":
            return kind.FromString(codec.json_to_proto(name, MessageToJson(message)))
        case "proto to json":
            # Strictly: a member that the type does not have would be an invention of ours.
            return Parse(codec.proto_to_json(name, message.SerializeToString()), kind())
        case "proto":
            return kind.FromString(codec.proto_to_proto(name, message.SerializeToString()))
    text = MessageToJson(message, **SPELLINGS[form])
    return Parse(codec.json_to_json(name, text), kind())
