"""Our codec, as a program that is asked line by line."""

import base64
import json
import subprocess
from pathlib import Path


class RefusedError(Exception):
    """The codec did not accept a body; the text says why."""


class Codec:
    """A running codec."""

    def __init__(self, program: Path) -> None:
        """Starts the program."""
        self._process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )

    def close(self) -> None:
        """Ends the program."""
        self._process.communicate()

    def json_to_json(self, name: str, text: str) -> str:
        """Reads JSON and writes it again."""
        return self._convert(name, "json", "json", text)

    def json_to_proto(self, name: str, text: str) -> bytes:
        """Reads JSON and writes protobuf."""
        return base64.b64decode(self._convert(name, "json", "proto", text))

    def proto_to_json(self, name: str, body: bytes) -> str:
        """Reads protobuf and writes JSON."""
        return self._convert(name, "proto", "json", base64.b64encode(body).decode())

    def proto_to_proto(self, name: str, body: bytes) -> bytes:
        """Reads protobuf and writes it again."""
        encoded = base64.b64encode(body).decode()
        return base64.b64decode(self._convert(name, "proto", "proto", encoded))

    def _convert(self, name: str, source: str, target: str, body: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = {"type": name, "from": source, "to": target, "body": body}
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()
        answer: dict[str, str] = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise RefusedError(answer["error"])
        return answer["ok"]
