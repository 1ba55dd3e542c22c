"""Changed models: those that refute statements of the paper, and those that put a reason to the test.

Each lacks one effect and is the same otherwise. Some change constants or assumptions and are run. Others give a run the
outcome of another run: a policy that never moves nodes comes out as the baseline None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from math import inf
from typing import Any

from fawkes.offline.studies.paper.judging.fixed import CONSTANTS, FixedModel
from fawkes.sim.hadoop.constants import Constants
from fawkes.workload.making.classes import DEFAULTS, GB

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Changed:
    """``meaning`` is a text for the page. ``model`` is run, unless ``instead`` names the values of another run."""

    meaning: str
    model: FixedModel = field(default_factory=FixedModel)
    instead: Callable[[Values], Values] | None = None


def _constants(**changes: object) -> FixedModel:
    return FixedModel(replace(CONSTANTS, **changes))  # type: ignore[arg-type]


def _without_limit(*kinds: str) -> dict[str, float]:
    """All rates of these parts of the machine, without a limit."""
    names = [constant.name for constant in fields(Constants) if constant.name.endswith("bytes_s")]
    return {name: inf for name in names if name.startswith(kinds)}


def _policies(names: Mapping[str, str], *, others: str = "") -> Callable[[Values], Values]:
    """Runs under a policy get the outcome of another policy; under ``others``, each policy but None."""

    def instead(values: Values) -> Values:
        policy = values.get("policy", "None")
        other = names.get(policy, policy if policy == "None" else others or policy)
        return _never_moves(values) if other == "None" else values | {"policy": other}

    return instead


def _never_moves(values: Values) -> Values:
    """The run under None; the growth type and tau do not matter there."""
    return values | {"policy": "None", "growth": "TC", "tau": 10.0} if "policy" in values else values


def _deaf(values: Values) -> Values:
    return _never_moves(values) if values.get("tau", 0.0) > 10.0 else values


def _same_roles(values: Values) -> Values:
    return values | {name: "TC" for name in ("role", "growth") if values.get(name) == "TR"}


_ALL = dict.fromkeys(("EQ", "JD", "DD", "TD", "PU", "DU", "RU", "JS", "JT", "TT"), "None")

MODELS: Mapping[str, Changed] = {
    "no-disks": Changed("disks without limit: neither reading nor writing takes time",
                        _constants(**_without_limit("disk"))),
    "slow-disks": Changed("disks of a quarter of the rate: few nodes cannot take the copies of many",
                          _constants(disk_bytes_s=CONSTANTS.disk_bytes_s / 4)),
    "disk-bound": Changed("compute-bound applications that need a fiftieth of the processor time, so that disks limit "
                          "them", FixedModel(factors={"cpu_compute": 0.02})),
    "no-link": Changed("a link between sites without limit: what crosses it costs nothing",
                       _constants(**_without_limit("site"))),
    "slow-link": Changed("a link between sites of a twentieth of the capacity",
                         _constants(site_bytes_s=CONSTANTS.site_bytes_s / 20)),
    "serial": Changed("jobs that begin for an hour: nine tenths of their time do not gain from nodes",
                      _constants(job_begin_us=3600 * 10**6)),
    "free-moves": Changed("copies off a leaving node that take no time",
                          _constants(**_without_limit("disk", "network"), streams=10**6, multiplier=10**6,
                                     decommission_us=0)),
    "no-loading": Changed("storage and disks without limit: MR-clusters load in no time",
                          _constants(**_without_limit("storage", "disk"))),
    "no-begins": Changed("jobs that begin and end in no time, on nodes of two slots: they wait for nodes alone",
                         _constants(job_begin_us=0, job_end_us=0, slots=2, map_slots=1, reduce_slots=1)),
    "same-roles": Changed("transient nodes that store their output as transient-core ones do", instead=_same_roles),
    "idle-policies": Changed("policies that never move a node, under the names of all", instead=_policies(_ALL)),
    "equal-policies": Changed("equal shares under the name of every policy but None",
                              instead=_policies({}, others="EQ")),
    "idle-demand": Changed("demand policies that never move a node",
                           instead=_policies(dict.fromkeys(("JD", "DD", "TD"), "None"))),
    "deaf-tau": Changed("loads so even that a tau above 10 is never exceeded", instead=_deaf),
    # --- for reasons
    "equal-data": Changed("MR-clusters that all load 50 GB", FixedModel(data_bytes=50 * GB)),
    "half-of-c-1": Changed("c-1 with half of its jobs", FixedModel(jobs={"c-1": 0.5})),
    "more-of-c-3": Changed("c-3 with twice the jobs", FixedModel(jobs={"c-3": 2.0})),
    "few-medium": Changed("c-2 of WKLD-D with 2 medium jobs and no large one",
                          FixedModel(reconstruction=replace(DEFAULTS, counts_d=(("small", 186), ("medium", 2))))),
}  # fmt: skip
