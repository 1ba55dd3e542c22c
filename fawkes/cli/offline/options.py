"""Options that several verbs have, each with one help and one range."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from fawkes.base.units import MOST_SEED
from fawkes.cli.asking import completion
from fawkes.cli.asking.parsed import DURATION
from fawkes.cli.offline.simulate import SETTING

F = TypeVar("F", bound=Callable[..., Any])


def seed_option(function: F) -> F:
    """``--seed``, which the verb gets as ``seed``: None keeps the seed of the scenario."""
    help_text = "Random seed, instead of the scenario's."
    return click.option("--seed", type=click.IntRange(0, MOST_SEED), help=help_text)(function)


def jobs_option(function: F) -> F:
    """``--jobs``, which the verb gets as ``jobs``: None is a process for each core."""
    help_text = "Parallel processes.  [default: one per core]"
    return click.option("--jobs", type=click.IntRange(1, 1024), help=help_text)(function)


def out_option(help_text: str) -> Callable[[F], F]:
    """``--out``, a folder that the verb gets as ``out``; None if it is not named."""
    return click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help=help_text)


def comparison_options(*, policies: str, admission: str, example: str, replays: int, spread: str) -> Callable[[F], F]:
    """The options of a comparison: ``policies``, ``admission``, ``settings``, ``replays``, ``spread``.

    ``policies``, ``replays`` and ``spread`` (a duration) are defaults, ``admission`` says in words what its default is,
    and ``example`` is a second setting for the help.
    """
    options = (
        click.option(
            "--policies",
            default=policies,
            show_default=True,
            help="Policies by name or file, with commas between; or all.",
            shell_complete=completion.policies,
        ),
        click.option(
            "--admission",
            help=f"Admission policies by name or file, with commas between.  [default: {admission}]",
            shell_complete=completion.admissions,
        ),
        click.option(
            "--set",
            "settings",
            type=SETTING,
            multiple=True,
            help=f"Values of a key, such as tau=5,10,20 or {example}; repeatable.",
        ),
        click.option(
            "--replays",
            type=click.IntRange(1, 9999),
            default=replays,
            show_default=True,
            help="Perturbed replays per policy.",
        ),
        click.option(
            "--spread",
            type=DURATION,
            default=spread,
            show_default=True,
            help="Largest shift of an arrival, earlier or later.",
        ),
    )

    def add(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return add
