"""An application in a file: its MR-jobs as ratios of bytes, for loads of scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from fawkes.config.files.fields import SizeBytes
from fawkes.config.files.loader import Strict, load
from fawkes.workload.making.classes import COMPUTE, DISK, Application, KnownClasses, Stage

Ratio = Annotated[float, Field(ge=0, le=1000)]


class StageTable(Strict):
    """``[[stage]]``: one MR-job of each run of the application; ratios are of its own input unless said otherwise."""

    name: str = Field(default="", description="its name, when there are several")
    kind: Literal["compute", "disk"] = Field(description="what limits it, for the model")
    input: Annotated[float, Field(gt=0, le=1000)] = Field(default=1.0, description="of the application's input")
    shuffle: Ratio = Field(default=0.0, description="what goes from maps to reduces; 0 is a job without reduces")
    output: Ratio = Field(description="what is written")
    map_cpu: Ratio | None = Field(default=None, description="seconds of a core for each MB that a map reads")
    reduce_cpu: Ratio | None = Field(default=None, description="seconds of a core for each MB that a reduce fetches")
    source: str = Field(default="", description="where these numbers come from, for people")


class ApplicationTable(Strict):
    """All keys of an application."""

    name: str = Field(min_length=1, description="its name, for people")
    input: SizeBytes = Field(description="its input, when a job names no size")
    reducer: SizeBytes | None = Field(default=None, description="input for one reduce; else loads have their number")
    stage: list[StageTable] = Field(min_length=1, description="its MR-jobs, one after another")


def load_application(path: Path) -> Application:
    """The application in a file, known by the file's name; ConfigError names file, key and value of what is wrong."""
    table = load(ApplicationTable, path)
    stages = tuple(_stage(row, path) for row in table.stage)
    kinds = {stage.kind for stage in stages}
    return Application(
        code=path.stem,
        name=table.name,
        kind=kinds.pop() if len(kinds) == 1 else f"{COMPUTE} + {DISK}",
        input_bytes=table.input,
        stages=stages,
        reducer_bytes=table.reducer,
    )


def _stage(table: StageTable, path: Path) -> Stage:
    source = table.source or str(path)
    return Stage(
        name=table.name,
        kind=table.kind,
        input=KnownClasses(table.input, source),
        shuffle=KnownClasses(table.shuffle, source),
        output=KnownClasses(table.output, source),
        map_cpu=table.map_cpu,
        reduce_cpu=table.reduce_cpu,
    )
