"""The page of chapter 3: statements with verdicts, the deadlock in a picture, and the same loads under each manager."""

from __future__ import annotations

import base64
from dataclasses import asdict
from html import escape
from pathlib import Path

import pandas as pd

from fawkes.base.catalog import Catalog, Kind, bundled_dir
from fawkes.core.state.admitting import Admission
from fawkes.offline.runs.folder import write_frame, write_picture
from fawkes.offline.studies.interference.figures import shares_over_time
from fawkes.offline.studies.interference.isolated import under_each
from fawkes.offline.studies.interference.rows import FAWKES, MANAGERS
from fawkes.offline.studies.interference.rules import judge
from fawkes.offline.studies.interference.scenario import bundled, load_scenario, path_of
from fawkes.offline.studies.shared.page import pipes
from fawkes.offline.studies.shared.verdicts import DIFFERS, RuleVerdict
from fawkes.policy.worker.policies import load_admission, policy_text

NAME = "interference"
_TITLE = "Interference of frameworks on one cloud"
_DRAWN = "deadlock"

_HOW = (
    "Chapter 3 of the dissertation of Dimopoulos (2018) runs Hadoop, Spark and Storm on one cloud whose manager offers "
    "resources by DRF and takes none back. This page repeats its statements in a simulation of such a manager, with "
    "the demands of Table 3.1 (`workloads/interference`). The text of the dissertation has no task lengths and no "
    "start-up times, so orders, states and ratios are judged and seconds are not. The rules "
    "(fixed.py and rules.py in fawkes/offline/studies/interference) were fixed before the runs. A statement is "
    "reproduced when its rule holds here and fails in the model that refutes it. Statement 3.5-gap gives seconds: its "
    "task lengths were chosen so that its first half holds, and its second half follows from the manager."
)
_FAWKES = (
    "The last manager is Fawkes: each framework has an MR-cluster of its own on as many nodes as the cloud has slaves, "
    "under the policy TD with T = 20 s. The simulator of Fawkes plays the same tasks there, as maps; a node runs as "
    "many at once as Hadoop has slots on a slave. Fine-grained Spark runs fewer tasks on a slave (1 and 3), so its "
    "times there are shorter for that reason, too. Times count from when an MR-cluster runs. `lost` is not known there."
)
_WHY = {
    "3.6-1gb": "DRF as printed offers Hadoop each CPU that Spark's first six tasks release, because its share is the "
    "smaller one until it has six. Spark's last two tasks then wait for Hadoop's single wave. In the experiment Hadoop "
    "registered later or needed fewer slaves; the text does not say which.",
    "3.8-batch": "The ratios are those of whole waves: 40 tasks fill 40 of 42 slots in one wave, and 35 slots need "
    "two; on the development cloud 120 tasks need 14 waves instead of 7. Tasks of unequal length and the start of "
    "executors make real ratios smaller.",
}


def publish_interference(folder: Path, *, pictures: bool = True) -> list[RuleVerdict]:
    """Write the chapter's page into a folder, with its tables and picture beside it; its verdicts."""
    folder.mkdir(parents=True, exist_ok=True)
    admission = _oracle()
    verdicts = list(judge(admission))
    rows: list[dict[str, object]] = []
    drawn = b""
    for name in bundled():
        scenario = load_scenario(path_of(name))
        made, curves = under_each(scenario, admission, Catalog(), (*MANAGERS.values(), FAWKES))
        rows += [{"scenario": name, **asdict(row)} for row in made]
        if name == _DRAWN and pictures:
            cpus = scenario.study.cloud.total.cpu_milli / 1000
            write_picture(folder / f"{NAME}-{name}", shares_over_time(curves, cpus, scenario.title))
            drawn = (folder / f"{NAME}-{name}.png").read_bytes()
    table = pd.DataFrame(rows)
    write_frame(folder / f"{NAME}-verdicts", pd.DataFrame([asdict(verdict) for verdict in verdicts]))
    write_frame(folder / f"{NAME}-rows", table)
    (folder / f"{NAME}.md").write_text(_markdown(verdicts, table, pictured=bool(drawn)), "utf-8")
    (folder / f"{NAME}.html").write_text(_html(verdicts, table, drawn), "utf-8")
    return verdicts


def _oracle() -> Admission:
    path = bundled_dir(Kind.ADMISSION) / Kind.ADMISSION.value / "oracle.py"
    return load_admission(policy_text("ORACLE", path.name, path.read_text("utf-8")), {})


def _verdict_table(verdicts: list[RuleVerdict]) -> pd.DataFrame:
    return pd.DataFrame(
        [(rule.name, rule.section, rule.published, rule.ours, rule.verdict, rule.refuted_by) for rule in verdicts],
        columns=["verdict of", "section", "the dissertation", "here", "verdict", "would be refuted by"],
    )


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    """The rows with whole seconds and dashes."""
    shown = table.drop(columns=["at_s", "dropped_jobs"]).astype(object)
    for name in ("first_task_s", "finished_s", "stuck_s", "lost_tasks"):
        shown[name] = [("-" if pd.isna(value) else f"{value:.0f}") for value in table[name]]
    return shown


def _counted(verdicts: list[RuleVerdict]) -> str:
    kinds = dict.fromkeys(rule.verdict for rule in verdicts)
    counts = ", ".join(f"{sum(rule.verdict == kind for rule in verdicts)} {kind}" for kind in kinds)
    return f"{len(verdicts)} statements: {counts}."


def _reasons(verdicts: list[RuleVerdict]) -> list[str]:
    return [
        f"Why {rule.name} differs: {_WHY[rule.name]}"
        for rule in verdicts
        if rule.verdict == DIFFERS and rule.name in _WHY
    ]


def _markdown(verdicts: list[RuleVerdict], table: pd.DataFrame, *, pictured: bool) -> str:
    picture = [f"![The deadlock of Figure 3.6 and what cures it]({NAME}-{_DRAWN}.png)\n"] if pictured else []
    parts = [
        f"# {_TITLE}\n",
        f"Made by `fawkes paper`. {_HOW}\n",
        f"{_counted(verdicts)}\n",
        pipes(_verdict_table(verdicts)) + "\n",
        *(f"{reason}\n" for reason in _reasons(verdicts)),
        "## The deadlock, and what cures it\n",
        *picture,
        "## The same load under each manager\n",
        f"{_FAWKES}\n",
        pipes(_shown(table)),
    ]
    return "\n".join(parts) + "\n"


def _html(verdicts: list[RuleVerdict], table: pd.DataFrame, drawn: bytes) -> str:
    picture = base64.b64encode(drawn).decode()
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(_TITLE)}</title>",
        f"<h1>{escape(_TITLE)}</h1><p>Made by fawkes paper. {escape(_HOW)}</p><p>{escape(_counted(verdicts))}</p>",
        _verdict_table(verdicts).to_html(index=False),
        *(f"<p>{escape(reason)}</p>" for reason in _reasons(verdicts)),
        f'<h2>The deadlock, and what cures it</h2><img alt="" src="data:image/png;base64,{picture}">' if drawn else "",
        f"<h2>The same load under each manager</h2><p>{escape(_FAWKES)}</p>",
        _shown(table).to_html(index=False),
        "</html>",
    ]
    return "\n".join(parts) + "\n"
