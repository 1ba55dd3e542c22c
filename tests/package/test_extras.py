"""A controller needs no package of an extra; a command that needs some says which, and what to type."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
import tomllib
from pathlib import Path

import pytest

from fawkes.base.extras import DISTRIBUTION, EXTRAS
from fawkes.cli.main import VERBS
from fawkes.offline.runs.folder import copied
from tests.package.running import ROOT, fawkes, python
from tests.report.played import filled, recorded

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EVERYTHING = tuple(package for packages in EXTRAS.values() for package in packages)
JOBS = ROOT / "workloads" / "traces" / "fb-2009-first50.jobs.csv"
#: what brings in nothing that is not needed: without these, paramiko cannot be imported
CONTROLLER = tuple(package for package in EVERYTHING if package != "cryptography")

#: `make ready` installs it: nobody needs a compiler for checks and pure tests
COMPILED = {"kerberos"}


def name_of(requirement: str) -> str:
    return re.split(r"[^\w-]", requirement, maxsplit=1)[0]


# --- the lists agree ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_extras_are_those_of_the_project(extra: str) -> None:
    wanted = PROJECT["project"]["optional-dependencies"][extra]
    assert sorted(map(name_of, wanted)) == sorted(EXTRAS[extra])


def test_no_package_of_an_extra_is_required_by_all() -> None:
    assert not set(map(name_of, PROJECT["project"]["dependencies"])) & set(EVERYTHING)


def test_developers_get_every_extra_that_is_not_compiled_on_their_machine() -> None:
    own = next(extra for extra in PROJECT["project"]["optional-dependencies"]["dev"] if extra.startswith(DISTRIBUTION))
    assert set(own.removeprefix(f"{DISTRIBUTION}[").removesuffix("]").split(",")) == set(EXTRAS) - COMPILED


def test_of_every_verb_it_is_known_whether_a_controller_alone_runs_it() -> None:
    """The contract of import-linter tells, or the verb's words without its extra, or a run without extras."""
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    held = next(row for row in contracts if row["name"].startswith("A controller and the commands"))["source_modules"]
    verbs = {words.split()[0] for words, *_ in NEEDS}
    run = {words.split()[0] for words, *_ in WORKS}
    for name, verb in VERBS.items():
        module = verb.where.partition(":")[0]
        assert any(f"{module}.".startswith(f"{room}.") for room in held) or name in verbs | run, name


# --- without the extras ---------------------------------------------------------------------------------------------

NEEDS = [
    ("simulate WKLD-A --out run", "offline"),
    ("compare WKLD-A --replays 1 --out grid", "offline"),
    ("whatif record", "offline"),
    ("calibrate record", "offline"),
    ("interference no-deadlock", "offline"),
    ("analyse trace log.csv", "offline"),
    ("analyse make log", "offline"),
    ("deadlines TR1 --capacity 10", "offline"),
    ("paper --out paper --quick", "offline"),
    ("replay WKLD-A", "offline"),
    (f"workload show {JOBS}", "offline"),
    (f"workload plot {JOBS} --out day", "offline"),
    ("lab up --hosts 1", "lab"),
    ("demo", "lab"),
    ("demo", "offline"),
    ("web", "web"),
]


def command_in(words: str) -> str:
    """The verb, and the one below it."""
    return " ".join(word for word in words.split()[:2] if word.isalpha() and word != "record")


@pytest.mark.slow
@pytest.mark.parametrize(("words", "extra"), NEEDS)
def test_a_command_without_its_extra_says_what_to_type_and_does_nothing(words: str, extra: str, tmp_path: Path) -> None:
    ended = fawkes(*words.split(), folder=tmp_path, without=EXTRAS[extra])
    assert (ended.returncode, ended.stdout) == (2, "")
    *others, last = sorted(EXTRAS[extra])
    names = f"{', '.join(others)} and {last}"
    start = f"fawkes: `fawkes {command_in(words)}` needs {names}, which are not installed. Run: "
    assert ended.stderr.startswith(start)
    assert re.fullmatch(rf".* -m pip install .*\[{extra}\]'?\n", ended.stderr)
    assert list(tmp_path.iterdir()) == []


def test_two_extras_are_named_together(tmp_path: Path) -> None:
    ended = fawkes("demo", folder=tmp_path, without=("pyroute2", "scipy"))
    assert "needs pyroute2 and scipy, which are not installed" in ended.stderr
    assert "[lab,offline]" in ended.stderr


def test_one_package_is_enough(tmp_path: Path) -> None:
    ended = fawkes("paper", "--out", "paper", folder=tmp_path, without=("scipy",))
    assert "`fawkes paper` needs scipy, which is not installed" in ended.stderr


@pytest.mark.slow
def test_dask_is_asked_for_before_anything_is_run(tmp_path: Path) -> None:
    words = ("compare", "WKLD-A", "--replays", "1", "--dask", "tcp://127.0.0.1:1", "--out", "grid")
    ended = fawkes(*words, folder=tmp_path, without=EXTRAS["dask"])
    assert ended.returncode == 2
    assert re.fullmatch(r"fawkes: `--dask` needs distributed, .* -m pip install .*\[dask\]'?\n", ended.stderr)
    assert list(tmp_path.iterdir()) == []


_LATE = """
import sys
from fawkes.cli.main import ProgramGroup, Verb
sys.modules[sys.argv.pop(1)] = None
ProgramGroup("fawkes", verbs={"late": Verb("fawkes.report.pictures.frames:frames", "")}).main(["late"])
"""


def test_an_import_that_no_verb_foresaw_is_told_in_the_same_words(tmp_path: Path) -> None:
    ended = python(_LATE, "pandas", folder=tmp_path)
    assert ended.returncode == 2
    assert re.fullmatch(
        r"fawkes: this command needs pandas, which is not installed. Run: .* -m pip install .*\n", ended.stderr
    )


@pytest.mark.slow
def test_a_module_that_no_extra_brings_is_a_defect(tmp_path: Path) -> None:
    ended = python(_LATE, "fawkes.report.history", folder=tmp_path)
    assert ended.returncode == 1
    assert "defect in Fawkes: ModuleNotFoundError" in ended.stderr


# --- what a controller alone can do ---------------------------------------------------------------------------------

WORKS = [
    # The jobs of this ledger ran on no Hadoop, so that they have no history.
    ("record --out span", 4),
    # There is no lab.
    ("lab status", 2),
    ("policies", 0),
    ("init new", 0),
    ("status", 0),
    ("nodes", 0),
    ("jobs", 0),
    ("events", 0),
    ("explain --last", 0),
    ("verify", 0),
    (f"workload convert {JOBS} --out all.jobs.csv", 0),
    (f"workload sample {JOBS} --jobs 5 --out five.jobs.csv", 0),
    (f"workload scale {JOBS} --time 1/10 --out small.jobs.csv", 0),
    ("workload make paper --set workload=WKLD-D --out wkld-d.jobs.csv", 0),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site whose ledger has a whole run."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "tests" / "package" / "pool-0.1.0", folder, dirs_exist_ok=True)
    copied(filled(recorded()), folder / "state")
    return folder


#: several commands in one process: a start costs as much as ten of them
_EACH = f"""
import sys
sys.modules |= dict.fromkeys({CONTROLLER})
from click.testing import CliRunner
from fawkes.cli.main import cli
for words in sys.argv[1:]:
    ended = CliRunner().invoke(cli, words.split())
    print(words, ended.exit_code, "not installed" in ended.output, sep="|")
"""


@pytest.mark.slow
def test_a_controller_alone_runs(site: Path) -> None:
    ended = python(_EACH, *(words for words, _ in WORKS), folder=site)
    assert ended.stdout.splitlines() == [f"{words}|{status}|False" for words, status in WORKS], ended.stderr


@pytest.mark.slow
def test_help_needs_no_extra(tmp_path: Path) -> None:
    asked = [f"{command_in(words)} --help" for words, _ in NEEDS]
    ended = python(_EACH, *asked, folder=tmp_path)
    assert ended.stdout.splitlines() == [f"{words}|0|False" for words in asked], ended.stderr


@pytest.mark.slow
def test_a_controller_starts_with_no_package_of_an_extra(tmp_path: Path) -> None:
    ended = python(
        f"import sys; sys.modules |= dict.fromkeys({CONTROLLER}); import fawkes.live.controller.controller",
        folder=tmp_path,
    )
    assert ended.returncode == 0, ended.stderr


# --- the command to type --------------------------------------------------------------------------------------------

_METADATA = """Metadata-Version: 2.4
Name: fawkes-provisioner
Version: 0.2.0
Requires-Dist: click>=8.4
Requires-Dist: matplotlib>=3.9; extra == 'offline'
Requires-Dist: pandas>=2.2; extra == 'offline'
Requires-Dist: distributed>=2024.8; extra == 'dask'
Provides-Extra: offline
Provides-Extra: dask
"""
_COMMAND = "from fawkes.base.extras import pip_command; print(pip_command(('offline', 'dask')))"


def command_of(installed: Path, direct_url: str | None) -> list[str]:
    """The words of the command when pip has noted this of where Fawkes came from."""
    folder = installed / "fawkes_provisioner-0.2.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(_METADATA)
    if direct_url is not None:
        (folder / "direct_url.json").write_text(direct_url)
    output = python(_COMMAND, folder=installed, env={"PYTHONPATH": f"{installed}:{ROOT}"})
    assert output.returncode == 0, output.stderr
    words = shlex.split(output.stdout)
    assert words[:4] == [sys.executable, "-m", "pip", "install"]
    return words[4:]


def test_from_an_index(tmp_path: Path) -> None:
    assert command_of(tmp_path, None) == ["fawkes-provisioner[offline,dask]"]


def test_from_a_wheel(tmp_path: Path) -> None:
    wheel = tmp_path / "my wheels" / "fawkes_provisioner-0.2.0-py3-none-any.whl"
    wheel.parent.mkdir()
    wheel.touch()
    noted = json.dumps({"archive_info": {}, "url": wheel.as_uri()})
    assert command_of(tmp_path, noted) == [f"{wheel}[offline,dask]"]


@pytest.mark.parametrize("editable", [True, False])
def test_from_a_checkout(tmp_path: Path, editable: bool) -> None:
    noted = json.dumps({"dir_info": {"editable": editable}, "url": tmp_path.as_uri()})
    assert command_of(tmp_path, noted) == ["--editable"] * editable + [f"{tmp_path}[offline,dask]"]


@pytest.mark.parametrize("url", ["file:///nowhere/fawkes.whl", "https://example.org/fawkes.whl"])
def test_from_a_place_that_is_gone_the_packages_themselves_are_named(tmp_path: Path, url: str) -> None:
    noted = json.dumps({"archive_info": {}, "url": url})
    assert command_of(tmp_path, noted) == ["matplotlib>=3.9", "pandas>=2.2", "distributed>=2024.8"]
