"""Runs a workflow of everybody, and kills the hub in the middle of it, twice.

An agent at home, one on the official Python SDK, one on the last official JavaScript SDK of A2A
0.3, and a workflow in the workflow. What comes of it must be what would have come of it anyway,
and everybody must have been told everything once.

Usage: python -m mixed NUNCIO, where NUNCIO is the built program.
"""

import collections
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from matrix.agents import Program, agents, running
from mixed.hub import Hub

# The agents at work give a piece every ten milliseconds: there is time to kill the hub twice.
FAR, OLD = 300, 1000

# How far from its end an agent must be when the hub is killed. What it is told next would
# otherwise be under way, and it is no agent that knows a message again.
MARGIN = 200

PATIENCE = 120

SETTINGS = """
agents:
  - name: home
    kind: command
    command: [sh, -c, 'read -r said; echo "$$said" >> heard-home; printf "home(%s)" "$$said"']
"""

INNER = f"""
name: inner
nodes:
  - {{id: text, type: input}}
  - {{id: first, type: external, config: {{agent: home, prompt: "inner {{{{text}}}}"}}}}
  - {{id: old, type: external, config: {{agent: js, prompt: "count:{OLD}"}}}}
  - {{id: second, type: external, config: {{agent: python, prompt: "{{{{first}}}} {{{{old}}}}"}}}}
  - {{id: out, type: output, config: {{prompt: "{{{{second}}}}"}}}}
edges:
  - {{from: text, to: first}}
  - {{from: first, to: old}}
  - {{from: old, to: second}}
  - {{from: second, to: out}}
"""

OUTER = f"""
name: mixed
nodes:
  - {{id: topic, type: input}}
  - {{id: near, type: external, config: {{agent: home, prompt: "near {{{{topic}}}}"}}}}
  - {{id: far, type: external, config: {{agent: python, prompt: "count:{FAR}"}}}}
  - {{id: nested, type: workflow, config: {{workflow: inner, inputs: {{text: "{{{{near}}}}"}}}}}}
  - {{id: join, type: external, config: {{agent: home, prompt: "{{{{far}}}}| {{{{nested}}}}"}}}}
  - {{id: back, type: external, config: {{agent: js, prompt: "{{{{join}}}}"}}}}
  - {{id: out, type: output, config: {{prompt: "{{{{back}}}}"}}}}
edges:
  - {{from: topic, to: near}}
  - {{from: near, to: far}}
  - {{from: near, to: nested}}
  - {{from: far, to: join}}
  - {{from: nested, to: join}}
  - {{from: join, to: back}}
  - {{from: back, to: out}}
"""


def counted(count: int) -> str:
    """What `count:N` gives."""
    return "".join(f"{index} " for index in range(count))


def golden(topic: str) -> tuple[str, dict[str, list[str]]]:
    """What comes of the run, and what everybody is told."""
    near = f"near {topic}"
    first = f"inner home({near})"
    second = f"home({first}) {counted(OLD)}"
    join = f"{counted(FAR)}| {second}"
    told = {
        # A shell leaves out the blanks at the end of a line.
        "home": [near, first, join.rstrip()],
        "python": [f"count:{FAR}", second],
        "js": [f"count:{OLD}", f"home({join.rstrip()})"],
    }
    return f"home({join.rstrip()})", told


def main(program: Path) -> int:
    """Runs it, and returns the exit code."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "nuncio.yaml").write_text(SETTINGS, encoding="utf-8")
        found = agents(program.parent)
        python = _counting(found["python"], home / "heard-python")
        older = _counting(found["js-older"], home / "heard-js")
        with running(python) as far, running(older) as old:
            hub = Hub(program, home)
            try:
                hub.run("agents", "add", far.url, "--name", "python")
                hub.run("agents", "add", old.url, "--name", "js")
                kills = _play(hub, home)
            finally:
                hub.kill()
    print(
        "interop: a workflow of an agent at home, Python (1.0), JavaScript (0.3) and a workflow, "
        f"{kills} kills: finished, everybody told once, {time.monotonic() - start:.1f} s"
    )
    return 0


def _counting(program: Program, file: Path) -> Program:
    environment = {**program.environment, "NUNCIO_INTEROP_HEARD": str(file)}
    return replace(program, environment=environment)


def _play(hub: Hub, home: Path) -> int:
    """Begins a run, kills the hub while it goes on, and checks how it ends."""
    for name, source in [("inner", INNER), ("mixed", OUTER)]:
        hub.ask("PUT", f"/api/v1/workflows/{name}", {"source": source})
    run = hub.ask("POST", "/api/v1/workflows/mixed/runs", {"inputs": {"topic": "otters"}})["id"]
    seen = 0
    for _ in range(2):
        seen = _until_at_work(hub, run, seen)
        hub.kill()
        hub.start()
    _check(hub, run, home)
    return 2


def _until_at_work(hub: Hub, run: str, seen: int) -> int:
    """Waits until more has come from all agents that work, and returns how much."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        # Before its first word a run has no nodes.
        outer = _nodes(hub, run)
        nested = outer.get("nested", {}).get("task_id")
        inner = _nodes(hub, nested) if nested else {}
        if inner and "task_id" in inner["old"] and "task_id" in outer["far"]:
            far = _pieces(hub, outer["far"])
            old = _pieces(hub, inner["old"])
            assert old < OLD - MARGIN, f"{old} of {OLD} pieces have come: it is too late to kill"
            if far > 0 and old > seen:
                return old
        time.sleep(0.02)
    raise AssertionError("the agents have not begun to work")


def _nodes(hub: Hub, run: str) -> dict[str, dict[str, Any]]:
    return {node["node"]: node for node in hub.ask("GET", f"/api/v1/runs/{run}")["nodes"]}


def _pieces(hub: Hub, node: dict[str, Any]) -> int:
    """How many pieces an agent has given so far."""
    task = hub.ask("GET", f"/api/v1/tasks/{node['task_id']}")
    return len(_text(task.get("artifacts") or task.get("task", {}).get("artifacts", [])).split())


def _text(artifacts: list[dict[str, Any]]) -> str:
    parts = [part for artifact in artifacts for part in artifact["parts"]]
    return "".join(part.get("text", "") for part in parts)


def _check(hub: Hub, run: str, home: Path) -> None:
    until = time.monotonic() + PATIENCE
    while (ended := hub.ask("GET", f"/api/v1/runs/{run}"))["state"] == "working":
        assert time.monotonic() < until, f"it never ends: {ended}"
        time.sleep(0.1)
    output, told = golden("otters")
    assert ended["state"] == "completed", ended
    assert _text(ended["output"]) == output, _text(ended["output"])
    for who, expected in told.items():
        heard = _heard(home / f"heard-{who}", is_json=who != "home")
        assert heard == collections.Counter(expected), f"{who} was told {heard}"
    nested = _nodes(hub, run)["nested"]["task_id"]
    for each in (run, nested):
        begun = collections.Counter(
            event["node"]
            for event in hub.ask("GET", f"/api/v1/runs/{each}/events")["events"]
            if event["type"] == "node.started"
        )
        assert set(begun.values()) == {1}, f"nodes were begun again: {begun}"


def _heard(file: Path, is_json: bool) -> collections.Counter[str]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return collections.Counter(json.loads(line) if is_json else line.rstrip() for line in lines)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
