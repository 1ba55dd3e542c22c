"""Somebody only asks whether an MR-cluster could be released: the answer is the real one, and nothing is done."""

from __future__ import annotations

import pytest

from fawkes.core.values.model import ClusterId, ClusterLife, Facts
from tests.support.desk import Desk

A = ClusterId("a")
FOLDER = {"path": "/user/ann", "bytes": 5, "files": 1, "owner": "ann"}


def asked(desk: Desk, *, ask: str = "q", dry_run: bool = True, discard: bool = False, force: bool = False) -> None:
    desk.release(A, discard=discard, force=force, dry_run=dry_run, ask=ask)


@pytest.mark.parametrize(
    ("survey", "discard", "force", "code"),
    [
        ({"undeclared": [], "applications": []}, False, False, ""),
        ({"undeclared": [FOLDER], "applications": []}, False, False, "undeclared-data"),
        ({"undeclared": [FOLDER], "applications": []}, True, False, ""),
        ({"undeclared": [], "applications": [{"id": "app_1"}]}, True, False, "foreign-applications"),
        ({"undeclared": None, "applications": []}, False, True, "survey-failed"),
        ({"undeclared": None, "applications": None}, True, True, ""),
    ],
)
def test_a_dry_run_answers_as_the_release_would(survey: Facts, discard: bool, force: bool, code: str) -> None:
    desk = Desk(4)
    desk.survey = survey
    desk.up("a")
    asked(desk, discard=discard, force=force)
    assert desk.refusal() == code
    assert desk.state.clusters[A].life is ClusterLife.RUNNING
    assert "released" not in desk.codes()
    asked(desk, dry_run=False, discard=discard, force=force)
    assert desk.refusal() == code
    assert (desk.state.clusters[A].life is ClusterLife.RUNNING) == bool(code)


def test_a_dry_run_of_one_that_waits_changes_nothing() -> None:
    desk = Desk(1)
    desk.request("a", 1)
    asked(desk)
    assert desk.refusal() == ""
    assert desk.state.clusters[A].life is not ClusterLife.GONE
    desk.submit("a", 1)
    asked(desk)
    assert desk.refusal() == "has-jobs"


def test_a_dry_run_does_not_stand_in_the_way_of_a_release() -> None:
    desk = Desk(4)
    desk.survey = None
    desk.up("a")
    asked(desk, ask="real", dry_run=False)
    effect = desk.state.pending["survey:a"].effect
    asked(desk, ask="dry")
    assert desk.refusal() == "overtaken"
    assert desk.state.pending["survey:a"].effect == effect
    desk.answer("survey:a", undeclared=[], applications=[])
    assert desk.refusal() == ""
    assert desk.state.clusters[A].life is ClusterLife.SAVING
