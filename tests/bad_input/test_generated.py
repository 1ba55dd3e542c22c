"""Whatever becomes of a good file: a command that reads it works or says what is wrong, and leaves nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from fawkes.base.catalog import Catalog
from fawkes.base.errors import UserError
from fawkes.config.site.site import Site
from fawkes.offline.scenarios.read import read_plan
from tests.bad_input.mutations import KINDS, Kind, mutated
from tests.bad_input.support import Ended, changed, lay_out, run_here, tree
from tests.support.examples import examples

ENDINGS = {0, 1, 2, 4}
"""Done, no host fits (the only node of the site is closed), wrong, some hosts fit."""


def read(kind: Kind, folder: Path) -> Ended:
    """How the command ends that reads a file; a scenario is read and not run, which may take as long as it says."""
    if kind.args[0] != "plan":
        return run_here(folder, kind.args)
    try:
        plan = read_plan(Site(folder), Catalog(site=folder), str(folder / kind.file))
        plan.scenario(Catalog(site=folder))
    except UserError as error:
        return Ended(error.exit_status, "", str(error))
    return Ended(0, "", "")


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_what_is_made_worse_is_good(kind: Kind, tmp_path: Path) -> None:
    lay_out(tmp_path, {kind.file: kind.text})
    # The only node of a site has a closed port, so `fawkes check` finds no host that fits.
    assert read(kind, tmp_path).exit == (1 if kind.name == "settings" else 0)


@pytest.mark.slow
@settings(
    max_examples=examples(1000),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
@given(mutated())
def test_a_file_with_something_wrong_is_read_or_refused(drawn: tuple[Kind, bytes]) -> None:
    kind, text = drawn
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        lay_out(folder, {kind.file: text})
        before = tree(folder)
        done = read(kind, folder)
        said = done.stdout + done.stderr
        assert "Traceback" not in said
        assert "defect in Fawkes" not in said
        assert done.exit in ENDINGS, said
        if done.exit:
            assert done.stderr.strip()
        if done.exit == 2:
            # A pool that has become smaller is named by the file of the MR-cluster that asks for it.
            assert any(name in done.stderr for name in (Path(kind.file).name, "c.toml"))
        assert changed(before, tree(folder)) == set()
