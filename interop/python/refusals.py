"""What the SDK refuses, we refuse as well; where one of us is stricter is written down."""

from collections.abc import Callable, Iterator
from typing import ParamSpec

from a2a.types import a2a_pb2
from a2a.utils.errors import InvalidParamsError
from a2a.utils.proto_utils import parse_lenient, validate_proto_required_fields
from google.protobuf.json_format import MessageToJson, ParseError
from google.protobuf.message import Message

from codec import Codec, RefusedError
from outcome import Outcome
from samples import least
from schema import card_types, is_required, message_types

P = ParamSpec("P")

NEEDS = '"messageId":"m","role":"ROLE_USER"'

# A type, and JSON that neither side takes for it.
BOTH_REFUSE = [
    ("Part", '{"text":"a","url":"b"}'),
    ("Part", '{"raw":"","data":{}}'),
    ("Part", '{"text":5}'),
    ("Part", '{"text":["a"]}'),
    ("Part", '{"raw":"a"}'),
    ("Part", '{"text":"a","metadata":"x"}'),
    ("Part", '{"text":"a","metadata":[]}'),
    ("Part", '{"text":"\\ud800"}'),
    ("Part", '{"data":"\\ud800"}'),
    ("Part", '{"data":{"a":1,"a":2}}'),
    ("Part", '{"data":' + "[" * 200 + "]" * 200 + "}"),
    ("Message", "{" + NEEDS + ',"parts":[null]}'),
    ("Message", "{" + NEEDS + ',"parts":{}}'),
    ("Message", "{" + NEEDS + ',"parts":[{"text":""}],"extensions":["a",null]}'),
    ("Message", "{" + NEEDS + ',"parts":[{"text":""}],"role":"ROLE_AGENT"}'),
    ("Message", "{" + NEEDS + ',"parts":[{"text":""}],"unknown":{"y":1,"y":2}}'),
    ("Message", '{"messageId":7,"role":"ROLE_USER","parts":[{"text":""}]}'),
    ("Task", ""),
    ("Task", "null"),
    ("Task", '{"id":"t","status":{"state":1}'),
    ("Task", '{"id":"t","status":{"state":1}} x'),
    ("Task", '{"id":"t","status":{"state":1},}'),
    ("Task", '{"id":"t","status":{"state":1}} // comment'),
    ("Task", "{'id':'t','status':{'state':1}}"),
    ("Task", '{"id":"t","status":1}'),
    ("TaskStatus", '{"state":1,"timestamp":""}'),
    ("TaskStatus", '{"state":1,"timestamp":5}'),
    ("TaskStatus", '{"state":1,"timestamp":"yesterday"}'),
    ("TaskStatus", '{"state":1,"timestamp":"2026-08-20"}'),
    ("TaskStatus", '{"state":1,"timestamp":"2026-08-20T09:00:00"}'),
    ("TaskStatus", '{"state":1,"timestamp":"2026-13-20T09:00:00Z"}'),
    ("TaskStatus", '{"state":1,"timestamp":"2026-08-20T09:00:00.1234567891Z"}'),
    ("StreamResponse", '{"task":{"id":"t","status":{"state":1}},"message":{' + NEEDS + "}}"),
    ("SendMessageResponse", '{"task":{"id":"t","status":{"state":1}},"message":{' + NEEDS + "}}"),
    ("GetTaskRequest", '{"id":"t","historyLength":2147483648}'),
    ("GetTaskRequest", '{"id":"t","historyLength":1.5}'),
    ("GetTaskRequest", '{"id":"t","historyLength":" 1"}'),
    ("GetTaskRequest", '{"id":"t","historyLength":""}'),
    ("GetTaskRequest", '{"id":"t","historyLength":true}'),
    ("ListTasksRequest", '{"includeArtifacts":"true"}'),
    ("ListTasksRequest", '{"includeArtifacts":1}'),
    ("SecurityScheme", '{"mtlsSecurityScheme":{},"httpAuthSecurityScheme":{"scheme":"Basic"}}'),
    ("OAuthFlows", '{"implicit":{},"password":{}}'),
    ("ImplicitOAuthFlow", '{"scopes":{"a":null}}'),
    ("ImplicitOAuthFlow", '{"scopes":{"a":"x","a":"y"}}'),
    ("SecurityRequirement", '{"schemes":{"a":null}}'),
    ("SecurityRequirement", '{"schemes":[]}'),
]

# A type, JSON that the SDK takes and we do not, and what the SDK makes of it.
ONLY_WE_REFUSE = [
    ("Part", "{}", "a part without content"),
    ("StreamResponse", "{}", "an event without content"),
    ("StreamResponse", '{"task":null}', "an event without content"),
    ("SendMessageResponse", "{}", "an answer without content"),
    ("SecurityScheme", "{}", "a scheme without content"),
    ("OAuthFlows", "{}", "flows without content"),
    ("AgentCard", "{}", "a card without name"),
    ("Part", '{"text":"a","data":null}', "data null, and the text is lost"),
    ("Part", '{"raw":"!!!"}', "no bytes: base64 skips what it does not know"),
    ("Part", '{"data":NaN}', "a number that JSON does not have"),
    ("Part", '{"data":1e999}', "an infinity"),
    ("Message", "{" + NEEDS + ',"message_id":"n"}', "the last of the two spellings"),
    ("Message", '{"messageId":"' + "m" * 257 + '","role":1}', "an identifier of any length"),
    ("Message", '{"messageId":"m","role":"user"}', "no role, without a word"),
    ("Message", '{"messageId":"m","role":"1"}', "the number in quotes"),
    ("Message", '{"messageId":"m","role":9}', "a role that A2A does not have"),
    ("ListTasksRequest", '{"status":""}', "no filter"),
    ("Task", "[]", "an empty task"),
    ("SecurityRequirement", '{"schemes":{"a":[]}}', "an array for an empty object"),
]

# A type, JSON that we take and the SDK does not, and what we make of it.
ONLY_THE_SDK_REFUSES = [
    ("Part", '{"data":' + "[" * 60 + "]" * 60 + "}", "up to 128 levels, it about 48"),
    ("TaskStatus", '{"state":1,"timestamp":"2026-08-20t09:00:00z"}', "RFC 3339 in small letters"),
    ("TaskStatus", '{"state":1,"timestamp":"2026-08-20 09:00:00Z"}', "RFC 3339 with a space"),
    (
        "TaskStatus",
        '{"state":1,"timestamp":"2026-08-20T23:59:60Z"}',
        "a leap second: the one before",
    ),
]

# Required by A2A, but read as empty by us (type.field): what writes JSON from protobuf leaves
# out whatever is empty or zero.
LENIENT = {
    "Message.parts",
    "Artifact.parts",
    "ListTasksResponse.tasks",
    "ListTasksResponse.next_page_token",
    "ListTasksResponse.page_size",
    "ListTasksResponse.total_size",
}

# Of cards we require only these; the linter tells what else is missing.
STRICT_IN_CARDS = {"AgentCard.name", "OAuth2SecurityScheme.flows"}

# Protobuf cannot tell an enum that was left out from one that is unspecified.
LENIENT_IN_PROTO = {"TaskStatus.state", "Message.role"}


def outcomes(codec: Codec) -> Iterator[Outcome]:
    """Tries everything that one side or both should refuse."""
    for name, text in BOTH_REFUSE:
        yield _judge(codec, name, text, ours=False, theirs=False)
    for name, text, _ in ONLY_WE_REFUSE:
        yield _judge(codec, name, text, ours=False, theirs=True)
    for name, text, _ in ONLY_THE_SDK_REFUSES:
        yield _judge(codec, name, text, ours=True, theirs=False)
    yield from _missing_in_types(codec)
    yield from _missing_in_requests(codec)


def _missing_in_types(codec: Codec) -> Iterator[Outcome]:
    """Leaves out each required field of each type in turn."""
    in_cards = {descriptor.name for descriptor in card_types()}
    for descriptor in message_types():
        for field in filter(is_required, descriptor.fields):
            message = least(descriptor)
            message.ClearField(field.name)
            path = f"{descriptor.name}.{field.name}"
            lenient = path in LENIENT or (
                descriptor.name in in_cards and path not in STRICT_IN_CARDS
            )
            text, body = MessageToJson(message), message.SerializeToString()
            in_json = not _refuses(RefusedError, codec.json_to_json, descriptor.name, text)
            yield _expect(f"{path} left out of JSON", lenient, in_json)
            in_proto = not _refuses(RefusedError, codec.proto_to_proto, descriptor.name, body)
            lenient = lenient or path in LENIENT_IN_PROTO
            yield _expect(f"{path} left out of protobuf", lenient, in_proto)


def _missing_in_requests(codec: Codec) -> Iterator[Outcome]:
    """Leaves out of each request in turn whatever the SDK's server insists on."""
    for method in a2a_pb2.DESCRIPTOR.services_by_name["A2AService"].methods:
        for path, message in _shortened(least(method.input_type)):
            case = f"{method.name} without {path}"
            theirs = not _refuses(InvalidParamsError, validate_proto_required_fields, message)
            yield _expect(f"{case}, by the SDK", False, theirs)
            text, body = MessageToJson(message), message.SerializeToString()
            in_json = not _refuses(RefusedError, codec.json_to_json, method.name, text)
            yield _expect(f"{case}, in JSON", False, in_json)
            in_proto = not _refuses(RefusedError, codec.proto_to_proto, method.name, body)
            yield _expect(f"{case}, in protobuf", False, in_proto)


def _shortened(message: Message) -> Iterator[tuple[str, Message]]:
    """Makes copies of a message that each lack one required field, at any depth."""
    for field, value in message.ListFields():
        if is_required(field):
            copy = type(message)()
            copy.CopyFrom(message)
            copy.ClearField(field.name)
            yield field.name, copy
        if field.message_type and not field.is_repeated:
            for path, inner in _shortened(value):
                copy = type(message)()
                copy.CopyFrom(message)
                getattr(copy, field.name).CopyFrom(inner)
                yield f"{field.name}.{path}", copy


def _judge(codec: Codec, name: str, text: str, *, ours: bool, theirs: bool) -> Outcome:
    message = getattr(a2a_pb2, name)()
    found = (
        not _refuses(RefusedError, codec.json_to_json, name, text),
        not _refuses((ParseError, UnicodeError), parse_lenient, text, message),
    )
    case = f"{name} from {text:.80}"
    if found == (ours, theirs):
        return Outcome(case)
    return Outcome(case, f"accepted by (us, the SDK): {found}, expected {(ours, theirs)}")


def _refuses(
    refusal: type[Exception] | tuple[type[Exception], ...],
    attempt: Callable[P, object],
    *args: P.args,
    **kwargs: P.kwargs,
) -> bool:
    try:
        attempt(*args, **kwargs)
    except refusal:
        return True
    return False


def _expect(case: str, expected: bool, accepted: bool) -> Outcome:
    if expected == accepted:
        return Outcome(case)
    return Outcome(case, "was accepted" if accepted else "was refused")
