"""A release that the controller's cache lacks is refused before anything is admitted, with the command to type."""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.config.details import ClusterDetails, JobDetails
from fawkes.core.events import PauseAsked, Requested, Submitted
from fawkes.core.model import ClusterId, ClusterSpec, JobId, JobSpec
from fawkes.dist.cache import Wanted
from fawkes.errors import FawkesError, UserError
from fawkes.live.releases import provide_needed, refuse_without_release, releases
from tests.support.desk import Desk


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAWKES_CACHE", str(tmp_path))


def requested(**details: str) -> Requested:
    plain = ClusterDetails(**details).plain()  # type: ignore[arg-type]
    return Requested(at_us=1, spec=ClusterSpec(id=ClusterId("c-1"), min_nodes=1, details=plain), by="ann", ask="q")


def submitted(kind: str) -> Submitted:
    details = JobDetails(kind=kind).plain()
    return Submitted(at_us=1, spec=JobSpec(id=JobId("j"), cluster=ClusterId("c-1"), details=details), by="ann", ask="q")


def test_a_missing_hadoop_is_refused_with_its_command(tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        refuse_without_release(requested(hadoop_version="3.4.2"))
    assert refused.value.what == "the controller has no Hadoop 3.4.2 in its cache, so nothing was done"
    assert refused.value.where == str(tmp_path / "dist")
    assert "`fawkes dist get 3.4.2`" in refused.value.hint


def test_a_missing_pig_is_refused_with_its_command() -> None:
    with pytest.raises(UserError, match="no Pig") as refused:
        refuse_without_release(submitted("pig"))
    assert "`fawkes dist get pig`" in refused.value.hint


def test_what_needs_nothing_of_the_cache_is_not_refused() -> None:
    refuse_without_release(requested(release_dir="/opt/hadoop"))
    refuse_without_release(submitted("sleep"))
    refuse_without_release(PauseAsked(at_us=1, reason="x", by="ann", ask="q"))


def test_an_empty_cache_has_no_releases(tmp_path: Path) -> None:
    # A folder of the right name is not yet a release.
    (tmp_path / "dist" / "hadoop-3.5.0").mkdir(parents=True)
    assert releases(acts=True) == {"folder": str(tmp_path / "dist"), "releases": [], "acts": True}


def test_after_an_upgrade_releases_are_fetched_once_each() -> None:
    desk = Desk(9)
    for name, version in (("a", "3.4.2"), ("b", "3.4.2"), ("c", "3.5.0")):
        desk.request(name, details=ClusterDetails(hadoop_version=version).plain())
    desk.request("d", 1, details=ClusterDetails(release_dir="/opt/hadoop").plain())
    said: list[str] = []
    fetched: list[str] = []

    def provide(wanted: Wanted) -> None:
        fetched.append(wanted.title)
        if len(fetched) == 1:
            raise FawkesError("no network")

    provide_needed(desk.state, said.append, provide)
    assert fetched == ["Hadoop 3.4.2", "Hadoop 3.5.0"]
    assert "no network. Run `fawkes dist get 3.4.2`" in said[1]
    assert len(said) == 3
