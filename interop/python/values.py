"""What fields are set to: ordinary things, and the corners of each type."""

import sys
from typing import Any

Json = Any


def nested(levels: int) -> Json:
    """Makes an object in an array, so many times."""
    return {"inner": [nested(levels - 1)]} if levels else None


TEXTS = {
    "quotes": '"quoted" \\ back \\" / slash \'single\'',
    "controls": "".join(map(chr, range(0x20))) + "\x7f\x80\x9f",
    "scripts": "Grüße, žluťoučký кот 猫 ねこ \u05d0\u05d1 \u200f\u0645\u0631 e\u0301",
    "astral": "🦦\U0001f469\u200d\U0001f467\U0010ffff\uffff\u2028\u2029\ufeff",
    "space": "  two\tspaces \r\n ",
    "escape-like": "\\u0041 \\n &lt; %20",
    "longest id": "x" * 256,
}

NUMBERS = {"largest": 2**31 - 1, "smallest": -(2**31), "one": 1, "minus one": -1}

# Seconds since 1970 and nanoseconds.
MOMENTS = {
    "epoch": (0, 0),
    "seconds": (1_787_216_400, 0),
    "milliseconds": (1_787_216_400, 123_000_000),
    "microseconds": (1_787_216_400, 123_456_000),
    "nanoseconds": (1_787_216_400, 123_456_789),
    "one nanosecond": (1_787_216_400, 1),
    "before the epoch": (-1, 999_999_999),
    "the year 1": (-62_135_596_800, 0),
    "the end of the calendar": (253_402_300_799, 999_999_999),
}

VALUES: dict[str, Json] = {
    "null": None,
    "true": True,
    "false": False,
    "zero": 0,
    "negative": -273.15,
    "tiny": 5e-324,
    "huge": sys.float_info.max,
    "largest safe integer": 2**53 - 1,
    "fraction": 0.1,
    "empty text": "",
    "empty object": {},
    "empty array": [],
    "empty key": {"": {"": ""}},
    "nulls": {"a": None, "b": [None, [None]]},
    "names of ours": {"messageId": 1, "message_id": 2, "text": "t", "kind": "message"},
    "texts": [*TEXTS.values(), {text: text for text in TEXTS.values()}],
    "deep": nested(12),
}

# About 2,000 values.
WIDE: Json = [
    {"id": n, "price": n / 4, "tags": ["a", str(n)], "at": {"x": n}, "note": None}
    for n in range(250)
]
