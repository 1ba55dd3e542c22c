"""The wheel and the source archive hold everything that a user needs, and nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path, PurePosixPath

import pytest

from fawkes import __version__
from fawkes.base.catalog import Catalog, Kind
from tests.package.running import ROOT

BUNDLED = "fawkes/_bundled"
#: what every user of the wheel finds in it, among others
EXPECTED = {
    "fawkes/config/examples/fawkes.toml",
    "fawkes/config/examples/jobs/example.toml",
    "fawkes/config/examples/systemd/fawkes-controller@.service",
    f"{BUNDLED}/docs/configuration.md",
    f"{BUNDLED}/docs/service.md",
    f"{BUNDLED}/inventory/small-site.toml",
    f"{BUNDLED}/playbooks/node.py",
    f"{BUNDLED}/policies/weighting/td.py",
    f"{BUNDLED}/workloads/traces/fb-2009-first50.jobs.csv",
    f"{BUNDLED}/workloads/quickstart.toml",
    f"{BUNDLED}/workloads/wkld-a-small.toml",
    f"fawkes_provisioner-{__version__}.dist-info/licenses/LICENSE",
}
BINARY = {".png", ".gz", ".xz"}


def files(folder: str, pattern: str = "*") -> set[str]:
    """The names in a folder of the project, without what Python and others leave there."""
    paths = ((ROOT / folder).rglob(pattern)) if (ROOT / folder).is_dir() else ()
    kept = (path.relative_to(ROOT) for path in paths if path.is_file())
    return {str(path) for path in kept if "__pycache__" not in path.parts and not path.name.startswith(".")}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source archive, and the wheel that was built from that archive."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT],
        check=True,
        capture_output=True,
        timeout=300,
    )
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    (path,) = built.glob("*.whl")
    assert path.name == f"fawkes_provisioner-{__version__}-py3-none-any.whl"
    return zipfile.ZipFile(path)


@pytest.mark.slow
def test_what_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    beside = files("policies") | files("playbooks") | files("workloads") | files("inventory") | files("docs", "*.md")
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == files("fawkes") | {f"{BUNDLED}/{name}" for name in beside}
    assert set(wheel.namelist()) >= EXPECTED


@pytest.mark.slow
def test_every_page_that_a_file_of_the_wheel_names_is_in_it(wheel: zipfile.ZipFile) -> None:
    there = set(wheel.namelist())
    named: dict[str, str] = {}
    for name in there:
        if PurePosixPath(name).suffix not in BINARY:
            text = wheel.read(name).decode()
            named |= dict.fromkeys(re.findall(r"(?<![\w/.-])docs/[\w/.-]+\.md\b", text), name)
    assert "docs/configuration.md" in named
    assert {page: by for page, by in named.items() if f"{BUNDLED}/{page}" not in there} == {}


@pytest.mark.slow
def test_what_came_with_fawkes_is_found_in_an_unpacked_wheel(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path)
    catalog = Catalog(bundled=tmp_path / "fawkes" / "_bundled")
    for kind in Kind:
        assert [file.name for file in catalog.all(kind)] == [file.name for file in Catalog(bundled=ROOT).all(kind)]


@pytest.mark.slow
def test_what_the_wheel_says_of_itself(built: Path, wheel: zipfile.ZipFile) -> None:
    said = message_from_bytes(wheel.read(f"fawkes_provisioner-{__version__}.dist-info/METADATA"))
    assert (said["Name"], said["Version"]) == ("fawkes-provisioner", __version__)
    assert said["License-Expression"].startswith("Apache-2.0")
    assert set(said.get_all("Provides-Extra", [])) == {"dask", "dev", "docs", "kerberos", "lab", "offline", "web"}
    checked = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *built.iterdir()],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert checked.returncode == 0, checked.stdout


@pytest.mark.slow
def test_the_source_archive_has_tests_and_papers(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    papers = {"LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "SECURITY.md", "Makefile"}
    assert names >= papers | {"pyproject.toml", "scripts/release"} | files("tests", "*.py")


def test_the_papers_are_of_this_version() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text()
    (latest, day) = re.findall(r"^## \[?(\d[\w.]*)\]? - (\S+)$", changes, re.MULTILINE)[0]
    paper = (ROOT / "CITATION.cff").read_text()
    cited = dict(re.findall(r'^(version|date-released|license): "(.*)"$', paper, re.MULTILINE))
    # Between two releases the version is that of the next one, under development.
    assert latest == cited["version"]
    assert __version__ == latest or (__version__ > latest and ".dev" in __version__ and "## [Unreleased]" in changes)
    assert cited["date-released"] == day
    assert cited["license"] == "Apache-2.0"
    assert "Version 2.0, January 2004" in (ROOT / "LICENSE").read_text()


@pytest.mark.parametrize("paper", ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_the_links_of_the_papers_lead_somewhere(paper: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / paper).read_text())
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_licence_of_each_foreign_file_is_named() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(project["license-files"]) == {"LICENSE", *(name for name in files("workloads", "LICENSE*"))}
