"""``[from]`` of the inventory: other tools that know the nodes, Ansible or Slurm."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field, model_validator

from fawkes.base.errors import ConfigError, cut
from fawkes.config.files.fields import LocalPath, PositiveDurationUs
from fawkes.config.files.loader import Faults, ManyConfigError, Strict, check, did_you_mean, wrong
from fawkes.config.nodes.programs import clustershell_group

ALL, ALLOCATION, SCONTROL = "*", "allocation", "scontrol"
M = TypeVar("M", bound=Strict)
Words = Mapping[str, tuple[str, Any]]
"""Keys of a ``[node.NAME]`` table, each with the tool's word for it and the value."""

_SLURM = (
    '"scontrol" to ask Slurm, "allocation" for the nodes of the allocation that Fawkes runs in, or a file with the '
    "output of `scontrol show node`"
)
_GIVE_BACK = "the time before the end of a Slurm allocation at which `fawkes run` begins to give its nodes back"


class From(Strict):
    """The ``[from]`` table."""

    ansible: LocalPath | None = Field(
        default=None, description="an Ansible inventory, or a file with the output of `ansible-inventory --list`"
    )
    slurm: LocalPath | None = Field(default=None, description=_SLURM)
    give_back: PositiveDurationUs = Field(default=30 * 60 * 1_000_000, description=_GIVE_BACK)

    @model_validator(mode="after")
    def _names_one_tool(self) -> From:
        if (self.ansible is None) == (self.slurm is None):
            raise wrong("must name one tool", 'Write ansible = "FILE" or slurm = "scontrol"')
        if "give_back" in self.model_fields_set and str(self.slurm) != ALLOCATION:
            raise wrong("`give_back` is about an allocation of Slurm", 'Remove it, or write slurm = "allocation"')
        return self

    @property
    def tool(self) -> str:
        """The key that names the tool, which begins the names of its groups."""
        return "slurm" if self.ansible is None else "ansible"


@dataclass(frozen=True)
class SlurmAllocation:
    """The allocation of Slurm that lends its nodes to the pool.

    ``end_s`` is its end (Unix time), None if Slurm must be asked; ``give_back_us`` is how long before the end the nodes
    are given back.
    """

    job: str
    end_s: int | None
    give_back_us: int


@dataclass
class Source:
    """A tool's answer about nodes.

    ``place`` is the file or the command that it came from, ``members`` gives the nodes of each of its ``groups``.
    ``read`` gives the words about a node and adds what is wrong with them to ``faults``. ``away`` says why a node must
    not be used, ``notes`` are lines for people.
    """

    tool: str
    place: str
    groups: Collection[str]
    members: Callable[[str], Collection[str]]
    read: Callable[[str, Faults], Words]
    away: Mapping[str, str] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    allocation: SlurmAllocation | None = None
    faults: Faults = field(init=False)

    def __post_init__(self) -> None:
        self.faults = Faults(self.place)

    def table(self, name: str, model: type[M]) -> M:
        """The words about a node as a table of the inventory; an empty one if something is wrong with them."""
        words = self.read(name, self.faults)
        try:
            return check(model, {key: value for key, (_, value) in words.items()}, file=self.place)
        except ConfigError as error:
            for each in error.errors if isinstance(error, ManyConfigError) else [error]:
                key, dot, rest = each.key.partition(".")
                word = words[key][0] if key in words else key
                self.faults.add(each.what, f"{cut(name)}.{word}{dot}{rest}", each.hint)
            return model()

    def group(self, name: str) -> Collection[str]:
        """The nodes of ``@NAME``: of the tool if the name begins with it (``ansible:web``), else of ClusterShell.

        ValueError when there are none.
        """
        tool, colon, own = name.partition(":")
        if not colon or tool != self.tool:
            return clustershell_group(name)
        if own not in self.groups:
            raise ValueError(f"{self.place} has no group {cut(own)!r}. {did_you_mean(own, self.groups)}")
        nodes = self.members(own)
        if not nodes:
            raise ValueError(f"the group {cut(own)!r} of {self.place} has no nodes")
        return nodes


def beside(folder: Path, path: Path) -> Path:
    """A path of a file, which is relative to the file's own folder."""
    return path if path.is_absolute() else folder / path
