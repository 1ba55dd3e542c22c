"""``--set`` over a scenario: keys of its tables, put into these before they are checked."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from fawkes.base.errors import ConfigError
from fawkes.config.files.loader import ManyConfigError, did_you_mean, keys_of, tables_of
from fawkes.config.settings.keys import SettingsFile
from fawkes.config.workloads.model import ModelTable

TABLES = ("model", "pool", "bounds")
"""The tables of a scenario whose keys ``--set`` reaches by TABLE.KEY; those of MR-clusters are CLUSTER.NAME.KEY."""
CLUSTER = "cluster"
HINT = (
    "Write a key of fawkes.toml, such as tau=10, or a key of the scenario, such as model.disk=50MB, pool.nodes=40 or "
    "cluster.NAME.min_nodes=3"
)

Changes = Mapping[str, Any]


class Divided(NamedTuple):
    """The changes by ``--set`` of ``fawkes.toml``, and those of the scenario."""

    settings: Changes
    scenario: Changes


def divided(changes: Changes) -> Divided:
    """Changes by what they are about; those of the scenario begin with one of its tables.

    ConfigError when a key begins with a table that neither has.
    """
    settings = keys_of(SettingsFile)
    for key, value in changes.items():
        if not isinstance(key, str):
            raise ConfigError(f"{key!r} is not a key", file="--set", hint=HINT)
        if value is None:
            raise ConfigError("has no value", file="--set", key=key, hint="Leave the key out for its usual value")
        name, dot, rest = key.partition(".")
        if dot and name not in (*settings, *TABLES, CLUSTER):
            hint = did_you_mean(name, (*TABLES, CLUSTER, *tables_of(SettingsFile)), kind="tables")
            hint = f"Write {rest}={value}" if name == "settings" else hint
            raise ConfigError(f"there is no table {name!r}", file="--set", key=key, hint=hint)
    scenario = {key: value for key, value in changes.items() if key.partition(".")[0] in (*TABLES, CLUSTER)}
    return Divided({key: value for key, value in changes.items() if key not in scenario}, scenario)


def place_of(path: Path | str, changes: Changes) -> str:
    """The place that an error names: the file, and what was set over it."""
    words = " ".join(f"--set {key}={value}" for key, value in changes.items())
    return f"{path} with {words}" if words else str(path)


@contextmanager
def blamed(path: Path | str, changes: Changes) -> Iterator[None]:
    """Errors about the file name the changes as well."""
    try:
        yield
    except ManyConfigError as error:
        raise ManyConfigError([_moved(fault, str(path), changes) for fault in error.errors]) from None
    except ConfigError as error:
        raise _moved(error, str(path), changes) from None


def _moved(error: ConfigError, file: str, changes: Changes) -> ConfigError:
    if error.file != file or not changes:
        return error
    return ConfigError(error.what, file=place_of(file, changes), key=error.key, hint=error.hint)


def changed(said: Mapping[str, Any], changes: Changes) -> dict[str, Any]:
    """The tables of a scenario with other values; ConfigError of ``--set`` when a key names no place in them.

    Whether table and key fit together is checked where the file itself is checked.
    """
    result = copy.deepcopy(dict(said))
    for key, value in changes.items():
        name, _, rest = key.partition(".")
        if name == CLUSTER:
            cluster, _, rest = rest.partition(".")
            table = _cluster(result, key, cluster, rest)
        else:
            table = result.setdefault(name, {})
        if not rest or not isinstance(table, dict):
            raise ConfigError("names no key of a table", file="--set", key=key, hint=HINT)
        if name == "pool" and rest == "nodes":
            # It is the number of hosts that a workload is made for: the pool is another one now.
            result.pop("hosts", None)
        last, written = _constant(rest, value) if name == "model" else (rest, value)
        _put(table, last, written, key)
    return result


def _cluster(said: Mapping[str, Any], key: str, name: str, rest: str) -> object:
    if not name or not rest:
        raise ConfigError("names no key of an MR-cluster", file="--set", key=key, hint=HINT)
    tables = [row for row in said.get(CLUSTER, []) if isinstance(row, dict)]
    for table in tables:
        if table.get("id") == name:
            return table
    known = [str(table.get("id")) for table in tables]
    hint = did_you_mean(name, known, kind="there are")
    raise ConfigError(f"there is no MR-cluster {name!r}", file="--set", key=key, hint=hint)


def _put(table: dict[str, Any], name: str, value: object, key: str) -> None:
    *above, last = name.split(".")
    for part in above:
        below = table.setdefault(part, {})
        if not isinstance(below, dict):
            raise ConfigError(f"{part!r} is no table", file="--set", key=key, hint=HINT)
        table = below
    table[last] = value


def _constant(name: str, value: object) -> tuple[str, object]:
    """A constant by its own name, which has the unit in it, as the key of the file with a unit in its value."""
    field = ModelTable.model_fields.get(name)
    if field is None or field.alias is None:
        return name, value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return field.alias, value
    exact = Decimal(repr(value))
    return field.alias, f"{exact / 1000:f}ms" if name.endswith("_us") else f"{exact:f}B"
