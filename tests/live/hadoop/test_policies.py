from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fawkes.base.catalog import Catalog, CatalogFile, Kind, Origin
from fawkes.base.errors import ConfigError
from fawkes.config.site.site import Site
from fawkes.core.values.model import Plain
from fawkes.live.controller import plans
from fawkes.live.controller.plans import plan
from fawkes.policy.worker.asking import WorkerLimits
from tests.config.support import POOL, write
from tests.support.pools import settings

POLICY = """'''A policy of this test.'''
NAME = "own"
def measure(window):
    return {body}
"""


def found(folder: Path, body: str) -> CatalogFile:
    path = folder / "own.py"
    path.write_text(POLICY.format(body=body))
    return CatalogFile(Kind.POLICY, "own", path, Origin.GIVEN)


@pytest.mark.slow
def test_a_policy_that_answers_is_taken_with_its_text(tmp_path: Path) -> None:
    policy = plans.read_policy(found(tmp_path, "1.0"), settings(), file="fawkes.toml")
    assert policy.text == (tmp_path / "own.py").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ("sum(range(10 ** 15))", "took more than 0.5 s on a processor"),
        ("float('nan')", "nan is not a demand"),
        ("10**400", "OverflowError: int too large"),
        ("1 / 0", "ZeroDivisionError: division by zero, line 4"),
    ],
)
def test_a_policy_that_is_not_to_be_trusted_is_refused(tmp_path: Path, body: str, wrong: str) -> None:
    with pytest.raises(ConfigError, match=wrong):
        plans.read_policy(found(tmp_path, body), settings(), file="fawkes.toml", bounds=WorkerLimits(time_s=0.5))


@pytest.mark.slow
def test_a_wrong_parameter_is_a_fault_of_the_file_that_has_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^fawkes\.toml: policy_parameters\.psy: .* has no parameter 'psy'"):
        plans.read_policy(found(tmp_path, "1.0"), settings(policy_parameters={"psy": 1.0}), file="fawkes.toml")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parameters", "where", "wrong"),
    [
        ("oracle", {}, "fawkes.toml: admission: ", "ORACLE must know the work of each job beforehand"),
        (
            "justice",
            {"windoww": 3},
            "fawkes.toml: admission_parameters.windoww: ",
            "has no parameter 'windoww'.*window",
        ),
        ("justice", {"correction": "x"}, "fawkes.toml: admission_parameters: ", "correction is 'x', not one of mean"),
        ("justice", {"kill_threshold": "x"}, "fawkes.toml: admission_parameters: ", "TypeError"),
        ("justice", {"correction": "x", "bootstrap": 9}, "fawkes.toml: admission_parameters: ", "correction is 'x'"),
    ],
)
def test_an_admission_policy_that_cannot_serve_a_live_pool_is_refused(
    name: str, parameters: dict[str, Plain], where: str, wrong: str
) -> None:
    how = replace(settings(), admission_parameters=parameters)
    with pytest.raises(ConfigError, match=f"^{where}.*{wrong}"):
        plans.read_admission(Catalog().find(Kind.ADMISSION, name), how, file="fawkes.toml")


def site(folder: Path, admission: str) -> Site:
    write(folder, "inventory.toml", POOL)
    write(folder, "fawkes.toml", f'admission = "{admission}"')
    write(folder, "known_hosts", "")
    return Site(folder)


@pytest.mark.slow
def test_a_controller_is_planned_with_the_admission_policy_of_its_site(tmp_path: Path) -> None:
    ready = plan(site(tmp_path, "justice"), shadow=False)
    assert ready.admission is not None
    assert (ready.admission.name, ready.settings.core.admission) == ("JUSTICE", "JUSTICE")


@pytest.mark.slow
def test_a_controller_without_one_is_planned_as_before(tmp_path: Path) -> None:
    assert plan(site(tmp_path, "fifo"), shadow=False).admission is None


@pytest.mark.slow
def test_an_admission_policy_that_computes_for_ever_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    text = Catalog().find(Kind.ADMISSION, "fifo").text()
    path.write_text(text.replace("    return None", "    return sum(range(10 ** 15))"))
    with pytest.raises(ConfigError, match=r"own\.py: .*took more than 0.5 s on a processor"):
        plans.read_admission(
            CatalogFile(Kind.ADMISSION, "own", path, Origin.GIVEN),
            settings(),
            file="fawkes.toml",
            bounds=WorkerLimits(time_s=0.5),
        )


@pytest.mark.slow
def test_an_admission_policy_with_its_parameters_is_taken(tmp_path: Path) -> None:
    policy = Catalog().find(Kind.ADMISSION, "justice")
    how = replace(settings(), admission_parameters={"correction": "none", "kill_threshold": 0})
    assert plans.read_admission(policy, how, file="fawkes.toml").name == "JUSTICE"
