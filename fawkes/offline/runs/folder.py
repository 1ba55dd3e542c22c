"""Folders of results: written whole or not at all, and known by the version that wrote them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fawkes.base import writing
from fawkes.base.errors import ConfigError, FawkesError, RefusedError, UserError
from fawkes.base.reading import opened, read_text
from fawkes.base.version import __version__
from fawkes.offline.outcomes.outcome import Outcome
from fawkes.offline.runs.code import code_digest
from fawkes.store.base import Reader
from fawkes.store.sqlite import LEDGER_FILE, Ledger

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

RUN_FILE = "run.json"
FORMAT = 2
"""The version of run.json and grid.json; another number is another layout of the folder."""


def refuse_present(folder: Path) -> None:
    """RefusedError when something is where a result shall go: whose it is, or which version wrote it."""
    if not folder.exists() and not folder.is_symlink():
        return
    hint = "Name a new folder, or move this one away"
    stamp = stamp_of(folder / RUN_FILE)
    if stamp is None:
        raise RefusedError("exists already and is not from a simulation", where=str(folder), hint=hint)
    version, form = stamp.get("fawkes"), stamp.get("format")
    if (version, form) != (__version__, FORMAT):
        raise RefusedError(
            f"holds results of Fawkes {version} (format {form}); this is {__version__} (format {FORMAT})",
            where=str(folder),
            hint=hint,
        )
    raise RefusedError(f"exists already, with the results of {stamp.get('scenario')!r}", where=str(folder), hint=hint)


def stamp_of(file: Path) -> dict[str, Any] | None:
    """The facts in a folder's own file; None when there is no such file, or it cannot be read."""
    try:
        said = json.loads(read_text(file))
    except (FawkesError, ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def stamp(**facts: Any) -> dict[str, Any]:
    """The content of a folder's own file: the versions, the digest of the code, and these facts."""
    return {"fawkes": __version__, "format": FORMAT, "code": code_digest(), **facts}


def write_json(file: Path, value: Any, *, indent: int | None = 1) -> None:
    """A JSON file that is there whole or not at all, whenever the machine stops; without indent it is made faster."""
    write_text(file, json.dumps(value, indent=indent, sort_keys=True, allow_nan=False) + "\n")


def write_rows(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """A JSON list with a line for each row, without blanks: small, and a change of one row changes one line."""
    lines = (json.dumps(row, separators=(",", ":"), sort_keys=True, allow_nan=False) for row in rows)
    write_text(file, "[\n" + ",\n".join(lines) + "\n]\n")


def write_text(file: Path, text: str) -> None:
    """The same for a file of text."""
    with writing.whole(file) as out:
        out.write(text.encode())


@contextlib.contextmanager
def whole(folder: Path, refuse: Callable[[Path], None] = refuse_present) -> Iterator[Path]:
    """A folder to fill, which gets its name when all of it is there; after an error nothing is left of it.

    RefusedError (by ``refuse``) when there is something of that name, UserError when it cannot be made.
    """
    refuse(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise UserError(f"cannot be written to: {error.strerror}", where=str(folder.parent)) from None
    try:
        draft.chmod(0o755)
        yield draft
        refuse(folder)
        os.rename(draft, folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def write_run(folder: Path, store: Reader, outcome: Outcome, title: str, say: Callable[[str], None]) -> None:
    """A run in a folder that `fawkes --site FOLDER events` understands: ledger, frames, pictures, figures.

    ``say`` is told each part that is done.
    """
    with whole(folder) as draft:
        _write_ledger(draft, store)
        say("ledger")
        _write_frames(draft, store)
        say("frames")
        _write_pictures(draft, store, title)
        say("pictures")
        write_json(draft / RUN_FILE, stamp(scenario=title, outcome=outcome.plain()))


PARTS_OF_A_RUN = 3


def _write_ledger(folder: Path, store: Reader) -> None:

    copied(store, folder / "state")


def _write_frames(folder: Path, store: Reader) -> None:
    from fawkes.report.pictures import frames

    (folder / "frames").mkdir()
    for name in ("nodes", "clusters", "jobs", "ticks", "moves", "samples"):
        write_frame(folder / "frames" / name, getattr(frames, name)(store))


#: what pandas.read_csv takes for a missing value, and no text of ours means
_TAKEN = frozenset({
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL",
    "NaN", "None", "n/a", "nan", "null",
})  # fmt: skip

#: columns of text in which nothing is missing, and what looks like a number is none: the job ``0017``
_TEXTS = (
    "application", "cluster", "code", "codes", "failed", "fawkes", "from_cluster", "job", "log", "node", "policy",
    "role", "settings", "state", "to_cluster", "why",
)  # fmt: skip


def csv_text(column: str, value: Any) -> Any:
    """A value as our CSV has it: a text that readers take for a missing value gets its column's name behind it.

    The policy ``None`` becomes ``None (policy)``: pandas.read_csv drops ``None``, with or without quotes.
    """
    return f"{value} ({column})" if isinstance(value, str) and value in _TAKEN else value


def write_frame(path: Path, frame: pd.DataFrame) -> None:
    """A frame as CSV and as Parquet beside it, each whole or not at all; FawkesError when Parquet cannot hold it.

    Texts in the CSV are those of ``csv_text``; ``read_frame`` gives the frame back as it was.
    """
    texts = {
        column: [csv_text(column, value) for value in frame[column]]
        for column in frame.columns
        if not _is_number(frame[column])
    }
    try:
        parquet = frame.to_parquet(None, engine="pyarrow", index=False)
    except (ValueError, TypeError) as error:
        raise FawkesError(f"cannot be written as Parquet: {error}", where=str(path)) from error
    write_text(path.with_suffix(".csv"), frame.assign(**texts).to_csv(index=False, lineterminator="\n"))
    with writing.whole(path.with_suffix(".parquet")) as out:
        out.write(parquet)


def read_frame(path: Path) -> pd.DataFrame:
    """A frame that Fawkes wrote, from its CSV or its Parquet file, with the texts that it had: the policy ``None``.

    ConfigError when there is no such file, or when it is no CSV or no Parquet.
    """
    import pandas as pd

    with opened(path, hint="Name a file that `fawkes compare` or `fawkes simulate --out` wrote") as source:
        try:
            if path.suffix == ".parquet":
                return pd.read_parquet(source)
            frame = pd.read_csv(source, keep_default_na=False, na_values=[""], dtype=dict.fromkeys(_TEXTS, str))
        except (ValueError, OSError) as error:
            raise ConfigError(f"cannot be read as a table ({error})", file=str(path)) from None
    for column in frame.columns:
        if not _is_number(frame[column]):
            marked = {f"{text} ({column})": text for text in _TAKEN}
            frame[column] = frame[column].replace(marked)
        if column in _TEXTS:
            frame[column] = frame[column].fillna("")
    return frame


def _is_number(values: pd.Series[Any]) -> bool:
    import pandas as pd

    return pd.api.types.is_numeric_dtype(values)


def _write_pictures(folder: Path, store: Reader, title: str) -> None:
    from fawkes.report.pictures.course import course_of
    from fawkes.report.pictures.figures import nodes_over_time
    from fawkes.report.pictures.panels import course_over_time

    course = course_of(store)
    write_picture(folder / "nodes-over-time", nodes_over_time(store, title=title))
    write_picture(folder / "course", course_over_time(course, title))
    write_frame(folder / "course", course.frame())


def write_picture(path: Path, figure: Figure | None) -> None:
    """A figure as PNG, and as PDF and SVG beside it; each is there whole or not at all.

    None removes those that are there: they would show what other tables beside them no longer say.
    """
    from fawkes.report.pictures.style import FORMS, rendered

    for form in FORMS:
        if figure is None:
            path.with_suffix(f".{form}").unlink(missing_ok=True)
            continue
        with writing.whole(path.with_suffix(f".{form}")) as out:
            out.write(rendered(figure, form))


# --- A store in memory as a ledger file, like that of a live run


def copied(store: Reader, folder: Path) -> None:
    """All steps of a store as the ledger of a state folder, on disk when this returns."""
    # A thousand steps, each waited for, take a minute on a slow disk.
    ledger = Ledger(folder, durable=False)
    try:
        ledger.fill(store.entries())
    finally:
        ledger.close()
    file = os.open(folder / LEDGER_FILE, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
