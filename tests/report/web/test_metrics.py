"""/metrics: what is known, under names that Prometheus, the alert rules and the dashboard agree on."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from fawkes.core.values.events import Condition, Woke
from fawkes.core.values.model import Reason
from fawkes.core.values.sight import Compute, Stored
from fawkes.report.tables.board import board
from fawkes.report.tables.rows import gone
from fawkes.report.web.metrics import Seen, measured, metrics_text
from tests.report.played import recorded
from tests.support.desk import Desk

MONITORING = Path(__file__).parents[3] / "fawkes" / "report" / "web" / "monitoring"
MIDDLE_S = 100
needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is not installed (package prometheus)"
)

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture(scope="module")
def at_work() -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]], Seen]:
    """Rows and counts in the middle of the recorded run, when MR-clusters are at work."""
    from fawkes.store.memory import MemoryStore

    store, counts, first = MemoryStore(), Seen(0, 0, ()), None
    for entry in recorded():
        first = entry.event.at_us if first is None else first
        if entry.event.at_us > first + MIDDLE_S * 1_000_000:
            break
        store.append(entry.event, entry.decision)
        counts.follow(entry)
    return board(store, "pool"), board(store, "clusters"), board(store, "nodes"), counts


def samples(text: bytes) -> Samples:
    families = text_string_to_metric_families(text.decode())
    return {
        (each.name, tuple(sorted(each.labels.items()))): each.value for family in families for each in family.samples
    }


def test_wasted_slot_time_is_that_of_the_account(at_work: Any) -> None:
    pool, clusters, nodes, _ = at_work
    name, counts = next(row["cluster"] for row in clusters if not gone(row)), Seen(0, 0, ())
    assert not [
        key for key in samples(metrics_text(pool[0], clusters, nodes, counts, stale=False)) if "wasted" in key[0]
    ]
    facts = {"cluster": name, "job": "j", "index": 1, "how": "killed", "run_us": 30_000_000, "took_us": 2_000_000}
    counts.waste.follow(Woke(at_us=1), [Reason("task-went", facts)])
    known = samples(metrics_text(pool[0], clusters, nodes, counts, stale=False))
    label = ("cluster", name)
    assert known["fawkes_cluster_wasted_seconds_total", (label, ("kind", "killed_work"))] == 32.0
    assert known["fawkes_cluster_wasted_seconds_total", (label, ("kind", "dumping"))] == 0.0


def test_figures_are_those_of_the_rows(at_work: Any) -> None:
    pool, clusters, nodes, counts = at_work
    known = samples(metrics_text(pool[0], clusters, nodes, counts, stale=False))
    there = [row for row in clusters if not gone(row)]
    assert len(there) > 1
    for row in there:
        label = ("cluster", row["cluster"])
        assert known["fawkes_cluster_nodes", (label, ("role", "core"))] == row["core"]
        for key, name in (("weight", "fawkes_cluster_weight_ratio"), ("tasks_waiting", "fawkes_cluster_tasks_waiting")):
            assert known.get((name, (label,))) == row[key]
        assert known["fawkes_cluster_health", (label, ("health", row["health"]))] == 1
    assert known["fawkes_steps_total", ()] == counts.seq
    assert known["fawkes_discrimination", ()] == pool[0]["tick_facts"]["raw"] > 0
    of_nodes = sum(value for (name, _), value in known.items() if name == "fawkes_nodes")
    assert of_nodes == len(nodes)


def test_what_is_not_known_has_no_sample(at_work: Any) -> None:
    pool, clusters, nodes, counts = at_work
    unknown = [{**row, "weight": None, "tasks_waiting": None} for row in clusters]
    known = samples(metrics_text(pool[0], unknown, nodes, counts, stale=False))
    names = {name for name, _ in known}
    assert "fawkes_cluster_share_ratio" in names
    assert names & {"fawkes_cluster_weight_ratio", "fawkes_cluster_tasks_waiting"} == set()


def test_without_weights_the_discrimination_is_not_known() -> None:
    facts = {"measure": "reducible", "raw": 3.0, "reducible": 2.0, "clusters": {"c": {"weight": 0.5}}}
    assert measured(facts) == 2.0
    assert measured({**facts, "clusters": {"c": {"weight": None}}}) is None
    assert measured({}) is None


def test_without_a_controller_nothing_is_green(at_work: Any) -> None:
    pool, clusters, nodes, counts = at_work
    known = samples(metrics_text({**pool[0], "simulated": False}, clusters, nodes, counts, stale=True))
    assert known["fawkes_controller_up", ()] == 0
    names = {name for name, _ in known}
    assert names & {"fawkes_cluster_health", "fawkes_cluster_tasks_waiting", "fawkes_cluster_jobs_running"} == set()


def test_names_that_a_user_chose_are_quoted(at_work: Any) -> None:
    pool, clusters, nodes, counts = at_work
    odd = [{**row, "cluster": 'a"\\\n{b}'} for row in clusters if not gone(row)][:1]
    known = samples(metrics_text(pool[0], odd, nodes, counts, stale=False))
    assert ("fawkes_cluster_min_nodes", (("cluster", 'a"\\\n{b}'),)) in known


def used_metrics() -> set[str]:
    """The metrics that rules and dashboard ask for."""
    dashboard = json.loads((MONITORING / "grafana.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked += re.findall(r"expr: (.*)", (MONITORING / "alerts.yml").read_text())
    asked += [each["query"] for each in dashboard["templating"]["list"]]
    return set(re.findall(r"fawkes_\w+", " ".join(asked)))


def test_rules_and_dashboard_ask_for_metrics_that_there_are(at_work: Any) -> None:
    pool, clusters, nodes, counts = at_work
    text = metrics_text({**pool[0], "simulated": False}, clusters, nodes, counts, stale=False).decode()
    there = set(re.findall(r"^# HELP (\S+)", text, flags=re.MULTILINE))
    assert len(used_metrics()) > 10
    assert used_metrics() - there == set()


def test_the_alert_of_lost_nodes_knows_that_they_come_back_with_their_data() -> None:
    desk = Desk(6)
    desk.up("a", 3)
    desk.see("node02", Condition.LOST)
    desk.look("node02", compute=Compute.RUNNING, stored=Stored.IN_SERVICE)
    assert desk.lives("a")["node02"] == "serving"
    (told,) = re.findall(
        r"alert: FawkesNodesLost.*?description: ([^\n]*)", (MONITORING / "alerts.yml").read_text(), re.S
    )
    assert "wiped" not in told
    assert "may hold data" in told
    assert "`fawkes retry NODE`" in told


def test_panels_of_the_dashboard_do_not_overlap() -> None:
    panels = [panel["gridPos"] for panel in json.loads((MONITORING / "grafana.json").read_text())["panels"]]
    cells = [(x, y) for p in panels for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


@needs_promtool
def test_promtool_accepts_the_metrics(at_work: Any) -> None:
    pool, clusters, nodes, counts = at_work
    text = metrics_text({**pool[0], "simulated": False}, clusters, nodes, counts, stale=False)
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, b"")


@needs_promtool
def test_promtool_accepts_the_rules() -> None:
    done = subprocess.run(
        ["promtool", "check", "rules", str(MONITORING / "alerts.yml")], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


RULE_TEST = """
rule_files: [{rules}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {{series: 'fawkes_controller_up{{job="fawkes",instance="a"}}', values: '1x9 0x20'}}
      - {{series: 'fawkes_cluster_health{{job="fawkes",instance="a",cluster="c-1",health="red"}}', values: '1x9 _x20'}}
    alert_rule_test:
      - {{eval_time: 9m, alertname: FawkesControllerDown, exp_alerts: []}}
      - eval_time: 15m
        alertname: FawkesControllerDown
        exp_alerts: [{{exp_labels: {{severity: critical, job: fawkes, instance: a}}, exp_annotations: {controller}}}]
      - eval_time: 8m
        alertname: FawkesClusterRed
        exp_alerts:
          - exp_labels: {{severity: critical, job: fawkes, instance: a, cluster: c-1, health: red}}
            exp_annotations: {red}
"""


@needs_promtool
def test_the_alerts_fire_when_they_should(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"][0]["rules"]
    notes = {rule["alert"]: rule["annotations"] for rule in rules}
    red = {key: text.replace("{{ $labels.cluster }}", "c-1") for key, text in notes["FawkesClusterRed"].items()}
    text = RULE_TEST.format(
        rules=MONITORING / "alerts.yml", controller=json.dumps(notes["FawkesControllerDown"]), red=json.dumps(red)
    )
    (tmp_path / "test.yml").write_text(text)
    done = subprocess.run(["promtool", "test", "rules", str(tmp_path / "test.yml")], capture_output=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
