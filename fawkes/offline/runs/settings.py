"""Settings as the command line gives them: ``tau=5,10,20``."""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fawkes.base.catalog import Catalog, CatalogFile, Kind, Origin
from fawkes.base.errors import UserError


def policies_named(catalog: Catalog, names: Iterable[str], *, where: str = "") -> list[CatalogFile]:
    """The policies of these names or files, or of one; UserError for one that is not there, or is named twice."""
    policies: dict[str, CatalogFile] = {}
    for name in [names] if isinstance(names, str) else names:
        policy = catalog.find(Kind.POLICY, name)
        if policy.title in policies:
            raise UserError(f"the policy {policy.title!r} is named twice", where=where, hint="Name each once")
        policies[policy.title] = policy
    if not policies:
        raise UserError("no policy is named", where=where, hint='Name one or more, such as "TD"')
    return list(policies.values())


def admission_named(catalog: Catalog, name: str, *, where: str = "") -> str:
    """The admission policy of that name or path, as settings name it; UserError when there is none."""
    try:
        policy = catalog.find(Kind.ADMISSION, name)
    except UserError as error:
        raise UserError(error.what, where=where or error.where, hint=error.hint) from None
    return str(policy.path.resolve()) if policy.origin is Origin.GIVEN else policy.name


def value_of(text: str) -> Any:
    """A number, true or false, or a list as TOML reads them; anything else is text, with or without quotes."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, bool | int | float | str | list) else text


def values_of(said: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The values by key; UserError when a key is given twice."""
    values: dict[str, Any] = {}
    for key, text in said:
        if key in values:
            raise UserError(f"{key!r} is set twice", where="--set", hint="Set each key only once")
        values[key] = value_of(text)
    return values


_PART = re.compile(r"""(?:[^,"'\[]|"[^"]*"|'[^']*'|\[[^]]*\]|["'\[])+""")


def _parts(text: str) -> list[str]:
    return [part.strip() for part in _PART.findall(text) if part.strip()]


def choices_of(said: Iterable[tuple[str, str]]) -> dict[str, list[Any]]:
    """The values of each key, which commas divide; those in quotes and brackets divide nothing.

    UserError when a key is given twice.
    """
    choices: dict[str, list[Any]] = {}
    for key, text in said:
        if key in choices:
            raise UserError(f"{key!r} is set twice", where="--set", hint="Write its values with commas: tau=5,10,20")
        choices[key] = [value_of(part) for part in _parts(text)]
    return choices


def crossed(choices: Mapping[str, Sequence[Any]], *, where: str = "") -> dict[str, Mapping[str, Any]]:
    """Every combination of the values, by a label such as ``tau=5 period=60s``, which has an admission policy first.

    Commands and Python give the same labels, so that one goes on in the folder of the other. UserError for a key
    without a value and for a value twice.
    """
    keys = sorted(choices, key=lambda key: key != "admission")
    for key in keys:
        if not choices[key]:
            raise UserError(f"{key} has no value", where=where, hint="Give one or more, or leave the key out")
        if len(set(map(_text, choices[key]))) < len(choices[key]):
            raise UserError(f"{key} has a value twice", where=where, hint="Give each value once")
    variants: dict[str, Mapping[str, Any]] = {}
    for values in itertools.product(*(choices[key] for key in keys)):
        pairs = dict(zip(keys, values, strict=True))
        variants[" ".join(f"{key}={_text(value)}" for key, value in pairs.items())] = pairs
    return variants


def _text(value: Any) -> str:
    """A value as TOML has it, but texts without quotes and numbers as short as they can be."""
    if isinstance(value, float) and float(short := f"{value:g}") == value:
        return re.sub(r"e\+?(-?)0*", r"e\1", short)
    return json.dumps(value, default=str) if isinstance(value, bool | list | tuple) else str(value)
