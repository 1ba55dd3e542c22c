"""Profiles of applications: the DAG of stages with what one run of each stage took (the annotated DAG, section 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import fsum

from fawkes.base.errors import ConfigError
from fawkes.core.quota.values import number_of
from fawkes.core.values.model import Plain


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledStage:
    """A stage as one run saw it; ``rate`` are the records that one core processes in a second (None: not known).

    ``idle_s`` is the time before its submission in which no stage ran, of the first one since the application began
    (None: not known).
    """

    id: str
    duration_s: float
    tasks: int
    records_read: float
    records_written: float
    rate: float | None = None
    parents: tuple[str, ...] = ()
    idle_s: float | None = None


@dataclass(frozen=True, slots=True)
class ApplicationProfile:
    """The stages of an application in the order of their submission; parents stand before their children.

    ``end_s`` is the time from the end of the last stage to the end of the application (None: not known).
    """

    name: str
    version: int
    stages: tuple[ProfiledStage, ...]
    end_s: float | None = None

    def stage(self, stage: str) -> ProfiledStage:
        """The stage of that id; KeyError when there is none."""
        return {each.id: each for each in self.stages}[stage]

    def plain(self) -> dict[str, Plain]:
        """The profile as plain data, which `profile_of` reads."""
        stages: list[Plain] = [{**asdict(stage), "parents": list(stage.parents)} for stage in self.stages]
        return {"name": self.name, "version": self.version, "end_s": self.end_s, "stages": stages}

    def fits_better(self, old: ApplicationProfile) -> bool:
        """True if it has other stages than an older version, or a rate that is missing there."""
        rates = {stage.id: stage.rate for stage in old.stages}
        if {(stage.id, stage.parents) for stage in self.stages} != {(stage.id, stage.parents) for stage in old.stages}:
            return True
        return any(stage.rate is not None and rates[stage.id] is None for stage in self.stages)


def stage_id(number: int, name: str) -> str:
    """The id of a stage by Spark's number and name, such as ``3 reduceByKey at words.py:12``.

    Spark names the file of the program with the folder of its container, which is another one in each run.
    """
    before, at, place = name.rpartition(" at ")
    return f"{number} {before}{at}{place.rpartition('/')[2]}"


def name_of(stage: str) -> str:
    """The name in a stage's id, which stages of the same line of a program share, such as those of a loop."""
    return stage.partition(" ")[2]


def profile_of(plain: Mapping[str, object], file: str) -> ApplicationProfile:
    """A profile out of plain data; ConfigError names the file and the key of what is missing or wrong."""
    name, stages = plain.get("name"), plain.get("stages")
    if not isinstance(name, str) or not name:
        raise ConfigError(f"is {name!r}", file=file, key="name", hint="It must be the name of an application")
    version = _whole(plain.get("version"), file, "version")
    if not isinstance(stages, Sequence) or isinstance(stages, str) or not stages:
        hint = "Make it again with a run of the application"
        raise ConfigError("this profile has no stages", file=file, key="stages", hint=hint)
    read: list[ProfiledStage] = []
    for place, table in enumerate(stages):
        key = f"stages.{place}"
        if not isinstance(table, Mapping):
            raise ConfigError("is not a table", file=file, key=key, hint="A stage has an id, a duration_s and tasks")
        stage = _stage(table, file, key)
        earlier = {each.id for each in read}
        unknown = [parent for parent in stage.parents if parent not in earlier]
        if stage.id in earlier or unknown:
            what = f"its parent {unknown[0]!r} is not before it" if unknown else f"two stages are {stage.id!r}"
            raise ConfigError(what, file=file, key=key, hint="List each stage once, after its parents")
        read.append(stage)
    return ApplicationProfile(name, version, tuple(read), _number_or_none(plain.get("end_s"), file, "end_s"))


def _stage(table: Mapping[str, object], file: str, key: str) -> ProfiledStage:
    identifier, parents = table.get("id"), table.get("parents", ())
    if not isinstance(identifier, str) or not identifier:
        raise ConfigError(f"is {identifier!r}", file=file, key=f"{key}.id", hint="It must be the name of a stage")
    if not isinstance(parents, Sequence) or isinstance(parents, str) or not all(isinstance(p, str) for p in parents):
        raise ConfigError(f"is {parents!r}", file=file, key=f"{key}.parents", hint="It must be a list of stages")
    return ProfiledStage(
        id=identifier,
        duration_s=_number(table.get("duration_s"), file, f"{key}.duration_s", above_zero=True),
        tasks=_whole(table.get("tasks"), file, f"{key}.tasks"),
        records_read=_number(table.get("records_read"), file, f"{key}.records_read"),
        records_written=_number(table.get("records_written"), file, f"{key}.records_written"),
        rate=_number_or_none(table.get("rate"), file, f"{key}.rate", above_zero=True),
        parents=tuple(parents),
        idle_s=_number_or_none(table.get("idle_s"), file, f"{key}.idle_s"),
    )


def _number_or_none(value: object, file: str, key: str, *, above_zero: bool = False) -> float | None:
    return None if value is None else _number(value, file, key, above_zero=above_zero)


def _number(value: object, file: str, key: str, *, above_zero: bool = False) -> float:
    number = number_of(value, file, key)
    if number < 0 or (above_zero and number == 0):
        hint = "It must be greater than 0" if above_zero else "It must be at least 0"
        raise ConfigError(f"is {number:g}", file=file, key=key, hint=hint)
    return number


def _whole(value: object, file: str, key: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(f"is {value!r}", file=file, key=key, hint="It must be a whole number of at least 1")
    return value


def nominal_rate(tasks: int, run_s: float, records: Sequence[float]) -> float | None:
    """Records that a core processes in a second; None when nothing that counts records was seen.

    ``records`` are candidates, the best first: what the parents wrote, what they read, what the stage itself read, and
    what it wrote. A candidate that is 0, or the number of tasks, counts something else.
    """
    place = _counts(tasks, records)
    return None if place is None or run_s <= 0 else records[place] / run_s


def _counts(tasks: int, records: Sequence[float]) -> int | None:
    """The place of the first candidate that counts records; None without any."""
    return next((place for place, each in enumerate(records) if each > 0 and each != tasks), None)


def records_of(
    profile: ApplicationProfile, stage: ProfiledStage, written: Mapping[str, float], size: float = 1.0
) -> float:
    """The records that the rate of a stage counts, in a run whose data are ``size`` times those of the profile.

    They are of the same kind as those by which the rate was found (`nominal_rate`), or else a rate in records written
    would be held against 0 records read. ``written`` are those that stages of this run wrote; of others it has what the
    profile has, by size. 0 where nothing counts.
    """
    parents = [profile.stage(each) for each in stage.parents]
    wrote, read = fsum(each.records_written for each in parents), fsum(each.records_read for each in parents)
    place = _counts(stage.tasks, (wrote, read, stage.records_read, stage.records_written))
    if place is None:
        return 0.0
    if place == 0:
        return fsum(written.get(each.id) or each.records_written * size for each in parents)
    return size * (wrote, read, stage.records_read, stage.records_written)[place]
