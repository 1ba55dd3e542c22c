"""Overrides of Hadoop's own configuration files, as administrators write them in the file of an MR-cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field, PlainValidator, ValidationError
from pydantic_core import PydanticCustomError

from fawkes.config.clusters.owned_keys import OLD_NAMES, why_owned
from fawkes.config.files.fields import SizeBytes
from fawkes.config.files.loader import Strict, did_you_mean, wrong

SITES = ("core-site", "hdfs-site", "yarn-site", "mapred-site", "capacity-scheduler", "hadoop-policy")

_VERSION = re.compile(r"\d+\.\d+\.\d+")


def _sites(value: object) -> dict[str, dict[str, str]]:
    """The keys by file, under their names of today. ValidationError has all that is wrong, each with its file."""
    if not isinstance(value, Mapping):
        raise wrong(f"{value!r} is no table of files", "Write [hadoop.yarn-site] and its keys below it")
    sites: dict[str, dict[str, str]] = {}
    faults: list[tuple[str, PydanticCustomError]] = []
    for site, keys in value.items():
        if site not in SITES:
            faults.append(("", wrong(f"there is no configuration file {site!r}", did_you_mean(site, SITES))))
        elif not isinstance(keys, Mapping):
            hint = f"Write [hadoop.{site}] and its keys below it"
            faults.append(("", wrong(f"{site} = {keys!r} is no table of keys", hint)))
        else:
            sites[site], of_site = _keys(site, keys)
            faults += [(site, fault) for fault in of_site]
    if faults:
        raise ValidationError.from_exception_data(
            "hadoop", [{"type": fault, "loc": (site,) if site else (), "input": value} for site, fault in faults]
        )
    return sites


def _keys(site: str, keys: Mapping[str, object]) -> tuple[dict[str, str], list[PydanticCustomError]]:
    values: dict[str, str] = {}
    faults: list[PydanticCustomError] = []
    for key, value in _flat(keys):
        name = OLD_NAMES.get(key, key)
        fault = _fault(key, name, value)
        if fault is None and name in values:
            fault = wrong(f"{site} has the key {name!r} twice", "Write it once, with or without quotes, under one name")
        if fault is None:
            values[name] = str(value).lower() if isinstance(value, bool) else str(value)
        else:
            faults.append(fault)
    return values, faults


def _flat(keys: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    """TOML reads a key without quotes, such as ``yarn.acl.enable``, as tables in tables: put it together again."""
    for name, value in keys.items():
        key = f"{before}.{name}" if before else name
        if isinstance(value, Mapping):
            yield from _flat(value, key)
        else:
            yield key, value


def _fault(key: str, name: str, value: object) -> PydanticCustomError | None:
    """The reason why a key cannot stand here; ``name`` is its name of today."""
    if key != key.strip():
        # Hadoop reads it without the blanks: it would be another key than the one that is looked at here.
        return wrong(f"the key {key!r} begins or ends with a blank", f"Write {key.strip()!r}")
    why = why_owned(name)
    if why is not None:
        today = f" (an old name of {name!r})" if name != key else ""
        return wrong(f"{key!r}{today} cannot be overridden", why)
    if not isinstance(value, str | int | float):
        return wrong(f"{key} = {value!r} is no value for Hadoop", "Write text, a number, true or false")
    return None


def full_version(text: str) -> str:
    """A version of Hadoop with all of its three numbers; the error for a validator when it is none."""
    if not _VERSION.fullmatch(text):
        raise wrong(f"{text!r} is no version of Hadoop", 'Write all three numbers in quotes, such as "3.5.0"')
    return text


HadoopSites = Annotated[dict[str, dict[str, str]], PlainValidator(_sites)]


class RoleTable(Strict):
    """``[role.ROLE]``: what holds for nodes of one role only."""

    hadoop: HadoopSites = Field(default={}, description="Hadoop's own keys, by file")


class RoleTables(Strict):
    """``[role]``: the roles that differ."""

    core: RoleTable = Field(default=RoleTable(), description="core nodes")
    transient: RoleTable = Field(default=RoleTable(), description="transient nodes")
    transient_core: RoleTable = Field(default=RoleTable(), alias="transient-core", description="transient-core nodes")


class HeapTable(Strict):
    """``[heap]``: the largest heap of each daemon."""

    namenode: SizeBytes | None = Field(default=None, description="the NameNode")
    journalnode: SizeBytes | None = Field(default=None, description="each JournalNode")
    datanode: SizeBytes | None = Field(default=None, description="each DataNode")
    resourcemanager: SizeBytes | None = Field(default=None, description="the ResourceManager")
    nodemanager: SizeBytes | None = Field(default=None, description="each NodeManager")
    historyserver: SizeBytes | None = Field(default=None, description="the JobHistory server")
    sparkhistory: SizeBytes | None = Field(default=None, description="the history server of Spark")
