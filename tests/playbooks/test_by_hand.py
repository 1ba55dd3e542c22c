"""Every task of every playbook, as `fab` finds it and with a context that records what it would run."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from invoke.context import MockContext
from invoke.runners import Result

from fawkes.base.catalog import Catalog, Kind, load_module
from playbooks import hadoop, job, lease, node

PLAYBOOKS = {"node": node, "hadoop": hadoop, "lease": lease, "job": job}
ROOT = Path(__file__).parents[2]
VALUES = {"pool": "lab", "cluster": "alpha", "work_dir": "/srv/f", "daemon": "datanode", "job": "wc"}


def tasks(module: ModuleType) -> list[Any]:
    return [value for value in vars(module).values() if type(value).__name__ == "Task"]


def context(exit_code: int = 0) -> MockContext:
    return MockContext(run=Result(stdout="@lease=free\n", exited=exit_code), repeat=True)


ALL = [(name, one) for name, module in PLAYBOOKS.items() for one in tasks(module)]


@pytest.mark.parametrize(("name", "task"), ALL, ids=[f"{name}.{task.name}" for name, task in ALL])
def test_a_task_has_help_and_sends_its_script_to_a_shell(name: str, task: Any) -> None:
    assert task.__doc__
    assert not task.auto_shortflags
    wanted = list(inspect.signature(task.body).parameters.values())[1:]
    arguments = {one.name: VALUES.get(one.name, 1) for one in wanted if one.default is one.empty}
    recorder: Any = context()
    task(recorder, **arguments)
    (call,) = recorder.run.call_args_list
    assert call.args == ("/bin/sh -s",)
    sent = call.kwargs["in_stream"].getvalue()
    assert sent.startswith("{\n")
    assert sent.endswith("} </dev/null\n")
    assert "/srv/f" in sent
    # Invoke asks for a letter at a time, and sleeps after each.
    assert call.kwargs["in_stream"].read(1) == sent


def test_every_playbook_has_tasks() -> None:
    assert {name for name, _ in ALL} == set(PLAYBOOKS)


def test_a_script_that_fails_ends_the_task_with_its_exit_code() -> None:
    (show,) = [task for task in tasks(lease) if task.name == "show"]
    with pytest.raises(SystemExit) as caught:
        show(context(79), "/srv/f")
    assert caught.value.code == 79


@pytest.mark.slow
def test_fab_lists_the_tasks_of_a_playbook() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "fabric", "--search-root", "playbooks", "--collection", "node", "--list"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    for task in tasks(node):
        assert f"  {task.name} " in said.stdout


@pytest.mark.parametrize("name", sorted(PLAYBOOKS))
def test_the_catalog_loads_a_playbook_off_the_path(name: str) -> None:
    module = load_module(Catalog().find(Kind.PLAYBOOK, name))
    assert {task.name for task in tasks(module)} == {task.name for task in tasks(PLAYBOOKS[name])}
    assert "playbooks" not in module.__name__.split(".")
