from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from fawkes.base.catalog import Catalog, Kind, Origin, bundled_dir, load_module
from fawkes.base.errors import ConfigError, UserError
from tests.config.support import write
from tests.package.running import ROOT


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(site=tmp_path / "site", bundled=tmp_path / "bundled")


def test_the_site_hides_what_came_with_fawkes(catalog: Catalog, tmp_path: Path) -> None:
    bundled = [write(tmp_path, f"bundled/policies/weighting/{name}.py", "") for name in ("td", "jd", "eq")]
    site = write(tmp_path, "site/policies/td.py", "")
    write(tmp_path, "site/policies/_help.py", "")
    write(tmp_path, "site/policies/notes.md", "")
    places = {known.name: (known.path, known.origin, known.hides) for known in catalog.all(Kind.POLICY)}
    assert places == {
        "eq": (bundled[2], Origin.BUNDLED, ()),
        "jd": (bundled[1], Origin.BUNDLED, ()),
        "td": (site, Origin.SITE, (bundled[0],)),
    }
    assert catalog.find(Kind.POLICY, "TD").path == site


def test_two_files_of_one_name_in_one_place_are_an_error(catalog: Catalog, tmp_path: Path) -> None:
    write(tmp_path, "site/policies/td.py", "")
    write(tmp_path, "site/policies/weighting/TD.py", "")
    with pytest.raises(UserError, match=r"two files are policy 'TD'.*td\.py and .*TD\.py.*Rename one"):
        catalog.find(Kind.POLICY, "td")


@pytest.mark.parametrize("target", ["policies", "nowhere", "file"])
def test_a_site_whose_folder_leads_to_no_folder_has_nothing_there(
    catalog: Catalog, tmp_path: Path, target: str
) -> None:
    """A link may lead to itself, to nothing or to a file."""
    bundled = write(tmp_path, "bundled/policies/td.py", "")
    write(tmp_path, "site/file", "")
    (tmp_path / "site/policies").symlink_to(target)
    assert catalog.find(Kind.POLICY, "td").path == bundled


def test_a_folder_that_cannot_be_listed_is_not_an_empty_one(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A policy of the site may be in it, of the name of one that came with Fawkes."""

    def closed(folder: Path) -> list[str]:
        raise PermissionError(errno.EACCES, "Permission denied", str(folder))

    write(tmp_path, "bundled/policies/td.py", "")
    (tmp_path / "site/policies").mkdir(parents=True)
    monkeypatch.setattr(os, "listdir", closed)
    with pytest.raises(ConfigError, match="site/policies: cannot be read") as raised:
        catalog.find(Kind.POLICY, "td")
    assert raised.value.hint == "Make it readable for the user who runs Fawkes"


def test_a_path_given_by_hand_comes_first(catalog: Catalog, tmp_path: Path) -> None:
    write(tmp_path, "site/policies/td.py", "")
    own = write(tmp_path, "own/td.py", "")
    assert catalog.find(Kind.POLICY, str(own)).origin is Origin.GIVEN
    assert catalog.find(Kind.POLICY, "td.py", base=tmp_path / "own").path == own


@pytest.mark.parametrize(
    ("name", "what", "hint"),
    [
        ("tdd", "there is no policy 'tdd'", "Did you mean 'td'? Known: jd, td; or give the path of a .py file"),
        ("zzz", "there is no policy 'zzz'", "Known: jd, td; or"),
        ("no/such.py", "no/such.py' is not a file", "Give the path of a policy"),
        ("site/policies", "is not a file", "Give the path of a policy"),
        ("site/policies/notes.md", "is not a .py file", "Give the path of a policy"),
    ],
)
def test_what_is_not_there_lists_what_is(name: str, what: str, hint: str, catalog: Catalog, tmp_path: Path) -> None:
    for file in ("td.py", "jd.py", "notes.md"):
        write(tmp_path, f"site/policies/{file}", "")
    with pytest.raises(UserError) as caught:
        catalog.find(Kind.POLICY, name, base=tmp_path)
    assert what in caught.value.what
    assert hint in caught.value.hint
    with pytest.raises(ConfigError, match=r"fawkes\.toml: policy: "):
        catalog.find(Kind.POLICY, name, base=tmp_path, file="fawkes.toml", key="policy")


@pytest.mark.parametrize(
    ("text", "name"),
    [("NAME = 'Fair'", "Fair"), ('NAME: str = "FAIR"', "FAIR"), ("NAME = 'Other'", "fair"), ("", "fair")],
)
def test_a_policy_has_the_capitals_that_it_gives_itself(text: str, name: str, catalog: Catalog, tmp_path: Path) -> None:
    path = write(tmp_path, "site/policies/fair.py", text)
    assert catalog.find(Kind.POLICY, "faIr").title == name
    assert catalog.find(Kind.POLICY, str(path)).title == name
    write(tmp_path, "site/playbooks/fair.py", text)
    assert catalog.find(Kind.PLAYBOOK, "fair").title == "fair"


def test_an_empty_catalog_says_so(catalog: Catalog) -> None:
    with pytest.raises(UserError, match=r"no workload 'a'.*Known: none; or give the path of a \.toml file"):
        catalog.find(Kind.WORKLOAD, "a")


def test_a_checkout_has_its_folders_beside_the_package_and_a_wheel_inside(tmp_path: Path) -> None:
    assert bundled_dir(Kind.WORKLOAD) == ROOT
    package = tmp_path / "site-packages" / "fawkes"
    (package / "_bundled" / "policies").mkdir(parents=True)
    assert bundled_dir(Kind.POLICY, package) == package / "_bundled"
    assert bundled_dir(Kind.PLAYBOOK, package) == tmp_path / "site-packages"


@pytest.mark.parametrize("kind", list(Kind))
def test_nothing_is_picked_up_from_a_home(kind: Kind, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    before = Catalog().all(kind)
    suffix = before[0].path.suffix
    for name in (before[0].name, "mine"):
        write(tmp_path, f".config/fawkes/{kind.value}/{name}{suffix}", "")
    assert Catalog().all(kind) == before


def test_one_folder_that_is_site_and_bundled_hides_nothing() -> None:
    policy = Catalog(site=ROOT, bundled=ROOT).find(Kind.POLICY, "TD")
    assert (policy.origin, policy.hides) == (Origin.SITE, ())


def test_a_checkout_that_is_a_site_has_what_came_with_fawkes(tmp_path: Path) -> None:
    checkout = Catalog(site=ROOT, bundled=ROOT)
    assert checkout.came_with_fawkes(checkout.find(Kind.ADMISSION, "fifo"))
    own = write(tmp_path, "policies/admission/fifo.py", (ROOT / "policies/admission/fifo.py").read_text())
    assert not checkout.came_with_fawkes(checkout.find(Kind.ADMISSION, str(own)))


def test_an_unchanged_copy_in_a_site_came_with_fawkes(tmp_path: Path) -> None:
    """Or an installed Fawkes would divide otherwise in a checkout than anywhere else."""
    copied = (ROOT / "policies/admission/fifo.py").read_text()
    own = write(tmp_path, "policies/admission/fifo.py", copied)
    catalog = Catalog(site=tmp_path, bundled=ROOT)
    assert catalog.find(Kind.ADMISSION, "fifo").path == own
    assert catalog.came_with_fawkes(catalog.find(Kind.ADMISSION, "fifo"))
    own.write_text(copied + "\n# changed\n")
    assert not catalog.came_with_fawkes(catalog.find(Kind.ADMISSION, "fifo"))


def test_what_comes_with_fawkes_is_found() -> None:
    catalog = Catalog()
    policies = {known.title for known in catalog.all(Kind.POLICY)}
    assert policies == {"JD", "DD", "TD", "PU", "DU", "RU", "JS", "JT", "TT", "None", "EQ", "CD", "NP"}
    assert "wkld-a-small" in {known.name for known in catalog.all(Kind.WORKLOAD)}
    assert {known.name for known in catalog.all(Kind.INVENTORY)} == {"das4-like", "small-site"}


def test_a_module_is_loaded_off_the_search_path(catalog: Catalog, tmp_path: Path) -> None:
    text = "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\n"
    first = write(tmp_path, "site/playbooks/node.py", text + "WHO = 'site'")
    second = write(tmp_path, "other/node.py", text + "WHO = 'other'")
    before = list(sys.path)
    modules = [load_module(catalog.find(Kind.PLAYBOOK, str(path))) for path in (first, second)]
    assert [module.WHO for module in modules] == ["site", "other"]
    assert modules[0].A(x=1).x == 1
    assert sys.path == before


@pytest.mark.parametrize(("text", "why"), [("import nosuch", "ModuleNotFoundError"), ("x = (", "SyntaxError")])
def test_a_module_that_cannot_be_loaded_is_named(text: str, why: str, catalog: Catalog, tmp_path: Path) -> None:
    path = write(tmp_path, "site/playbooks/node.py", text)
    with pytest.raises(UserError, match=f"cannot be loaded: {why}") as caught:
        load_module(catalog.find(Kind.PLAYBOOK, "node"))
    assert caught.value.where == str(path)


def test_the_text_of_a_file_is_read_or_the_file_is_named(catalog: Catalog, tmp_path: Path) -> None:
    path = write(tmp_path, "site/policies/td.py", "NAME = 'TD'")
    policy = catalog.find(Kind.POLICY, "td")
    assert policy.text() == "NAME = 'TD'"
    path.write_bytes(b"\xff")
    with pytest.raises(UserError, match=r"td\.py: line 1: is not UTF-8"):
        policy.text()
