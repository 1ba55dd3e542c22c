"""Each number that an option takes has a least and a most."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from fawkes.cli.main import cli

CHECKED_LATER = {"demo --hosts", "lab up --hosts", "submit --retries", "submit --tasks"}
"""By LabSpec and JobTable, whose messages say why."""


def commands(group: click.Group, above: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{above}{name} ")
        else:
            yield f"{above}{name}", command


def numbers() -> Iterator[object]:
    for name, command in commands(cli):
        for param in command.params:
            label, counts = f"{name} {param.opts[0]}", isinstance(param, click.Option) and param.count
            number = isinstance(param.type, click.types.IntParamType | click.types.FloatParamType)
            if number and not counts and label not in CHECKED_LATER:
                yield pytest.param(param.type, id=label)


@pytest.mark.parametrize("kind", list(numbers()))
def test_a_number_has_both_bounds(kind: click.ParamType[int]) -> None:
    assert isinstance(kind, click.IntRange | click.FloatRange)
    assert kind.min is not None
    assert kind.max is not None
