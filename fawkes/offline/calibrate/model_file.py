"""The file of fitted constants: ``[model]`` for scenarios, ``[fitted]`` says from what and how sure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fawkes.base.errors import ConfigError, RefusedError
from fawkes.base.version import __version__
from fawkes.config.files.loader import check, read_toml
from fawkes.config.workloads.model import ModelTable
from fawkes.offline.calibrate.fit import HIGH, LEAST, LOW, Fit
from fawkes.offline.record import toml
from fawkes.offline.record.folder import Record
from fawkes.offline.record.scenario import included
from fawkes.offline.runs.folder import write_text

_RATES = frozenset({"disk"})
_PLAIN = frozenset({"spread", "cores"})

Use = dict[str, Any]
"""Which steps of which ledger were used: ledger, pool, first_seq, last_seq."""


def use_of(record: Record) -> Use:
    """The part of its ledger that a record takes."""
    span = record.span
    return {
        "ledger": record.ledger_id,
        "pool": record.pool,
        "first_seq": span.first_seq,
        "last_seq": span.last_seq,
    }


def write_model(path: Path, fits: Sequence[Fit], records: Sequence[Record]) -> None:
    """Write the file, whole or not at all; UserError when it cannot be."""
    write_text(path, "\n".join(_lines(fits, records)) + "\n")


def shown(name: str, value: float) -> str:
    """A value of a constant as ``[model]`` has it, without quotes."""
    if name in _RATES:
        return toml.size(round(value))
    return f"{value:.4g}" if name in _PLAIN else toml.duration(round(value, -3).__int__())


def model_of(fits: Sequence[Fit]) -> ModelTable:
    """The fitted constants as the table of a scenario."""
    said = {fit.name: _said(fit.name, fit.value) for fit in fits if fit.value is not None}
    return check(ModelTable, {**included(said), **said}, file="the fitted constants", key="model")


def refuse_fitted(records: Sequence[Record], used: Sequence[Use], names: Sequence[str]) -> None:
    """RefusedError when a record shares steps with those that constants were fitted on, ``names`` of which are told."""
    for record in records:
        mine = use_of(record)
        for theirs, name in zip(used, names, strict=True):
            shares = mine["first_seq"] <= theirs["last_seq"] and theirs["first_seq"] <= mine["last_seq"]
            if mine["ledger"] == theirs["ledger"] and shares:
                raise RefusedError(
                    f"shares steps {max(mine['first_seq'], theirs['first_seq'])} to "
                    f"{min(mine['last_seq'], theirs['last_seq'])} of its ledger with {name}, which was used to fit",
                    where=str(record.folder),
                    hint="Validate on another run, or on another span of this one",
                )


def _lines(fits: Sequence[Fit], records: Sequence[Record]) -> Iterator[str]:
    yield f"# Constants of the model of Hadoop, fitted by `fawkes calibrate` {__version__}."
    yield '# A scenario takes them by [model] from = "FILE"; keys that stand in the scenario itself win.'
    yield from ("", "[model]")
    for fit in fits:
        if fit.value is None:
            yield f"# {fit.name}: not fitted, {fit.n} observations are fewer than {LEAST}; the default stays"
        else:
            yield f"{fit.name} = {toml.value(_said(fit.name, fit.value))}  # {_comment(fit)}"
    for name, value in included({fit.name for fit in fits if fit.value is not None}).items():
        yield f"{name} = {toml.value(value)}  # within what was measured"
    yield from ("", "# What was used to fit may not be used to judge: --validate refuses it.", "[fitted]")
    yield from toml.table({"fawkes": __version__})
    yield from toml.rows("records", map(use_of, records))
    for fit in fits:
        if fit.value is not None:
            yield from ("", f"[fitted.{fit.name}]")
            facts = {key: value for key, value in asdict(fit).items() if key != "name"}
            yield from toml.table({"method": fit.method, **facts})


def _said(name: str, value: float) -> str | float:
    text = shown(name, value)
    return float(text) if name in _PLAIN else text


def _comment(fit: Fit) -> str:
    assert fit.low is not None
    assert fit.high is not None
    between = f"{shown(fit.name, fit.low)} to {shown(fit.name, fit.high)}"
    return f"{fit.method} of {fit.n}; {LOW:.0%} to {HIGH:.0%} of it by bootstrap: {between}"


def uses_in(path: Path) -> list[Use]:
    """The parts of ledgers that a file of constants was fitted on; ConfigError when it does not say so."""
    said = read_toml(path, hint="`fawkes calibrate --out FILE` writes it")
    try:
        return [
            {
                "ledger": str(record["ledger"]),
                "pool": str(record["pool"]),
                **{k: int(record[k]) for k in ("first_seq", "last_seq")},
            }
            for record in said["fitted"]["records"]
        ]
    except (KeyError, TypeError, ValueError):
        hint = "`fawkes calibrate --out FILE` writes it"
        raise ConfigError(
            "does not say what it was fitted on", file=str(path), key="fitted.records", hint=hint
        ) from None
