"""Each query once more, by pandas: what Pig's results must be, whatever MR-cluster made them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from fawkes.base.errors import UserError

TOP = 10
_FIELDS = ("hash", "tracker", "timestamp", "seeders", "leechers", "downloads")
_COUNTS = ("seeders", "leechers", "downloads")

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "tot": ("tracker", "day", "swarms", "sessions", "seedless", "leechless", "samples"),
    "ah": ("day", "hashes"),
    "sot": ("hash", "tracker", "day", "seeders", "leechers", "peak", "samples"),
    "hot": ("hash", "day", "seeders", "leechers", "samples"),
    "at": ("day", "trackers"),
    "as": ("day", "swarms", "part"),
    "tktl": ("day", "tracker", "sessions"),
    "tktg": ("tracker", "sessions"),
    "tksl": ("day", "tracker", "hash", "sessions"),
    "tksg": ("tracker", "hash", "sessions"),
    "tkhl": ("day", "hash", "sessions"),
    "tkhg": ("hash", "sessions"),
    "join": ("hash", "tracker", "birth", "death"),
    "ns": ("tracker", "day", "swarms"),
    "ds": ("tracker", "day", "swarms"),
}
"""The results by the name of their folder, with their columns."""

_TEXTS = {"hash", "tracker", "day", "birth", "death"}


@dataclass(frozen=True, slots=True)
class ComparedResult:
    """A result held against pandas: ``wrong`` is empty when they are the same rows."""

    name: str
    rows: int
    wrong: str


def scrapes(folder: Path) -> pd.DataFrame:
    """The whole lines of a folder of records, as the queries read them: no count is 0, and a ``day``.

    UserError when there is no file.
    """
    files = sorted(folder.glob("part-*"))
    if not files:
        raise UserError("there are no records", where=str(folder), hint="workloads/btworld/scrapes.py makes some")
    lines = [line.split(" ") for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    rows = pd.DataFrame([(line + [""] * 6)[:6] for line in lines], columns=list(_FIELDS), dtype=str)
    whole = rows["hash"].str.fullmatch("[0-9a-f]{40}") & rows["timestamp"].str.fullmatch("[0-9]{8}T[0-9]{6}")
    rows = rows[whole].reset_index(drop=True)
    for name in _COUNTS:
        rows[name] = pd.to_numeric(rows[name], errors="coerce").fillna(0).astype(np.int64)
    rows["day"] = rows["timestamp"].str[:8]
    rows["sessions"] = rows["seeders"] + rows["leechers"]
    return rows


def results(raw: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Every result of the workflow by its name."""
    made: dict[str, pd.DataFrame] = {}
    for name, query in _QUERIES.items():
        made[name] = query(raw, made)[list(COLUMNS[name])].reset_index(drop=True)
    return made


def saved(folder: Path, name: str) -> pd.DataFrame:
    """The rows of a result as an MR-cluster wrote and saved them; UserError when there is no whole result."""
    place = folder / name
    if not (place / "_SUCCESS").exists():
        raise UserError("there is no whole result", where=str(place), hint=f"Run the query that writes {name!r}")
    lines = [line for file in sorted(place.glob("part-*")) for line in file.read_text(encoding="utf-8").splitlines()]
    rows = pd.DataFrame([line.split("\t") for line in lines], columns=list(COLUMNS[name]), dtype=str)
    for column in set(COLUMNS[name]) - _TEXTS:
        rows[column] = rows[column].astype(np.float64 if column == "part" else np.int64)
    return rows


def compare(folder: Path, wanted: Mapping[str, pd.DataFrame]) -> list[ComparedResult]:
    """Each result that was saved below ``folder`` held against the rows wanted; the order of rows does not count."""
    return [_compare(folder, name, rows) for name, rows in wanted.items()]


def _compare(folder: Path, name: str, wanted: pd.DataFrame) -> ComparedResult:
    try:
        results = saved(folder, name)
    except (UserError, ValueError) as error:
        return ComparedResult(name, len(wanted), str(error))
    first, second = _sorted(wanted), _sorted(results)
    if len(first) != len(second):
        return ComparedResult(name, len(wanted), f"{len(second)} rows instead of {len(first)}")
    for column in COLUMNS[name]:
        if column == "part":
            differs = ~np.isclose(first[column].to_numpy(), second[column].to_numpy(), rtol=1e-12, atol=0)
        else:
            differs = first[column].to_numpy() != second[column].to_numpy()
        if differs.any():
            at = int(np.argmax(differs))
            shown = f"{second[column].iloc[at]} instead of {first[column].iloc[at]}"
            return ComparedResult(name, len(wanted), f"{int(differs.sum())} rows differ in {column}, such as {shown}")
    return ComparedResult(name, len(wanted), "")


def _sorted(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.sort_values(list(rows.columns)).reset_index(drop=True)


_Made = Mapping[str, pd.DataFrame]


def _tot(raw: pd.DataFrame, made: _Made) -> pd.DataFrame:
    rows = raw.assign(seedless=raw["seeders"] == 0, leechless=raw["leechers"] == 0)
    return rows.groupby(["tracker", "day"], as_index=False).agg(
        swarms=("hash", "nunique"),
        sessions=("sessions", "sum"),
        seedless=("seedless", "sum"),
        leechless=("leechless", "sum"),
        samples=("hash", "size"),
    )


def _ah(raw: pd.DataFrame, made: _Made) -> pd.DataFrame:
    return raw.groupby("day", as_index=False).agg(hashes=("hash", "nunique"))


def _once(raw: pd.DataFrame) -> pd.DataFrame:
    return raw.drop_duplicates(["hash", "tracker", "timestamp", "seeders", "leechers"])


def _sot(raw: pd.DataFrame, made: _Made) -> pd.DataFrame:
    return _once(raw).groupby(["hash", "tracker", "day"], as_index=False).agg(
        seeders=("seeders", "sum"), leechers=("leechers", "sum"), peak=("seeders", "max"), samples=("hash", "size")
    )  # fmt: skip


def _hot(raw: pd.DataFrame, made: _Made) -> pd.DataFrame:
    return _once(raw).groupby(["hash", "day"], as_index=False).agg(
        seeders=("seeders", "sum"), leechers=("leechers", "sum"), samples=("tracker", "size")
    )  # fmt: skip


def _at(raw: pd.DataFrame, made: _Made) -> pd.DataFrame:
    return made["tot"].groupby("day", as_index=False).agg(trackers=("tracker", "size"))


def _as(raw: pd.DataFrame, made: _Made) -> pd.DataFrame:
    days = made["tot"].groupby("day", as_index=False).agg(swarms=("swarms", "sum"))
    return days.assign(part=days["swarms"] / days["swarms"].sum())


def _best(rows: pd.DataFrame, by: list[str], within: str = "") -> pd.DataFrame:
    """The first TOP by sessions, of equals by name; of each ``within`` if there is one."""
    sorted_rows = rows.sort_values(["sessions", *by], ascending=[False, *(True for _ in by)])
    return sorted_rows.groupby(within).head(TOP) if within else sorted_rows.head(TOP)


def _peaks(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    return _best(rows.groupby(by, as_index=False).agg(sessions=("sessions", "max")), by)


def _sums(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(sessions=rows["seeders"] + rows["leechers"])


def _join(raw: pd.DataFrame, made: _Made) -> pd.DataFrame:
    rows = raw[raw["tracker"].isin(made["tktg"]["tracker"])]
    return rows.groupby(["hash", "tracker"], as_index=False).agg(
        birth=("timestamp", "min"), death=("timestamp", "max")
    )  # fmt: skip


def _counted(made: _Made, column: str) -> pd.DataFrame:
    rows = made["join"].assign(day=made["join"][column].str[:8])
    return rows.groupby(["tracker", "day"], as_index=False).agg(swarms=("hash", "size"))


_QUERIES: Mapping[str, Callable[[pd.DataFrame, _Made], pd.DataFrame]] = {
    "tot": _tot,
    "ah": _ah,
    "sot": _sot,
    "hot": _hot,
    "at": _at,
    "as": _as,
    "tktl": lambda raw, made: _best(made["tot"], ["tracker"], "day"),
    "tktg": lambda raw, made: _peaks(made["tktl"], ["tracker"]),
    "tksl": lambda raw, made: _best(_sums(made["sot"]), ["hash", "tracker"], "day"),
    "tksg": lambda raw, made: _peaks(made["tksl"], ["hash", "tracker"]),
    "tkhl": lambda raw, made: _best(_sums(made["hot"]), ["hash"], "day"),
    "tkhg": lambda raw, made: _peaks(made["tkhl"], ["hash"]),
    "join": _join,
    "ns": lambda raw, made: _counted(made, "birth"),
    "ds": lambda raw, made: _counted(made, "death"),
}
