from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fawkes.base.errors import UserError
from fawkes.cli.main import cli
from fawkes.cli.pool.init import EXAMPLES, FILES, NEXT_STEPS, UNIT, write_examples
from fawkes.config.clusters.details import ClusterDetails
from fawkes.config.jobs.jobs import load_jobs
from fawkes.config.settings.presets import STEADY
from fawkes.config.settings.settings import load_settings
from fawkes.config.site.site import Site
from tests.support.typed import parse


def init(*words: str, **env: str) -> Result:
    return CliRunner().invoke(cli, ["init", *words], env=env)


def test_the_examples_are_a_site_that_works_as_it_is(tmp_path: Path) -> None:
    done = init(str(tmp_path / "new" / "site"))
    assert (done.exit_code, done.stderr) == (0, "")
    assert all(name in done.stdout for name in FILES)
    site = Site(tmp_path / "new" / "site")
    assert len(site.inventory().nodes) == 3
    assert site.cluster("example").min_nodes == 3
    assert site.settings().core == load_settings(tmp_path / "none.toml").core


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_there_is_not_overwritten_and_nothing_else_is_written(name: str, tmp_path: Path) -> None:
    mine = tmp_path / name
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("mine")
    done = init(str(tmp_path))
    assert done.exit_code == 6
    assert done.stderr == (
        f"fawkes: {tmp_path}: {name} is there already, so nothing was written. "
        "Name another folder, or move these files away\n"
    )
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [mine]
    assert mine.read_text() == "mine"


def test_all_files_that_are_there_are_named(tmp_path: Path) -> None:
    init(str(tmp_path))
    again = init(str(tmp_path))
    assert again.exit_code == 6
    assert f"{', '.join(FILES)} are there already" in again.stderr


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    done = init(str(tmp_path), "--dry-run", FAWKES_INIT_OUTPUT="json")
    assert json.loads(done.stdout)["rows"] == [{"file": str(tmp_path / name), "written": False} for name in FILES]
    assert list(tmp_path.iterdir()) == []


def test_what_was_written_is_taken_back_when_the_rest_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "jobs").write_text("in the way")
    with pytest.raises(UserError, match=r"Not a directory|File exists"):
        write_examples(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["jobs"]
    done = init(str(tmp_path))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Name a folder in which you may write" in done.stderr


def test_a_folder_that_cannot_be_made_is_bad_input() -> None:
    done = init("/proc/x")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("fawkes: /proc/x: the example files cannot be written there (No such file")


def test_no_folder_stays_when_the_site_cannot_be_made(tmp_path: Path) -> None:
    too_long = tmp_path / "a" / "b" / ("c" * 300)
    done = init(str(too_long))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "File name too long" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_unit_of_systemd_starts_this_program(tmp_path: Path) -> None:
    done = init("--systemd", str(tmp_path))
    assert "/etc/systemd/system" in done.stdout
    starts = re.findall(r"^ExecStart=(\S+) run$", (tmp_path / UNIT).read_text(), re.MULTILINE)
    program = Path(sys.prefix) / "bin" / "fawkes"
    assert starts == [str(program) if program.exists() else "/opt/fawkes/bin/fawkes"]
    again = init("--systemd", str(tmp_path / "other"), "--dry-run", FAWKES_INIT_OUTPUT="json")
    assert str(tmp_path / "other" / UNIT) in again.stdout


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    assert init(str(tmp_path / "x")).exit_code == 2


def uncommented(name: str) -> str:
    """An example with the `# ` taken away from all keys and tables."""
    return re.sub(r"^# (?=\[|[a-z_.]+ = )", "", (EXAMPLES / name).read_text(), flags=re.MULTILINE)


def test_the_commented_settings_are_those_of_the_preset(tmp_path: Path) -> None:
    text = uncommented("fawkes.toml")
    (tmp_path / "fawkes.toml").write_text(text)
    assert Site(tmp_path).settings().core == load_settings(tmp_path / "none.toml").core
    assert {key for key in STEADY if re.search(rf"^{key} = ", text, re.MULTILINE)} >= {"policy", "period", "max_moves"}


def test_the_commented_keys_of_nodes_are_valid(tmp_path: Path) -> None:
    (tmp_path / "id_ed25519").write_text("secret")
    (tmp_path / "inventory.toml").write_text(uncommented("inventory.toml"))
    node = Site(tmp_path).inventory().node("node03")
    assert (node.address, node.memory_bytes, node.capacity) == ("192.0.2.3", 8 * 1000**3, 0.5)
    assert (node.key, node.software_dir) == (tmp_path / "id_ed25519", "/srv/fawkes/dist")


def test_the_commented_keys_of_a_cluster_are_valid(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "file").write_text("x")
    init(str(tmp_path))
    text = uncommented("clusters/example.toml").replace('"/data/input"', f'"{tmp_path / "in"}"')
    (tmp_path / "clusters" / "all.toml").write_text(text)
    spec = Site(tmp_path).cluster("all")
    assert (spec.max_nodes, spec.deploy_on_first_job) == (10, True)
    assert ClusterDetails.of(spec.details).hadoop["mapred-site"] == {"mapreduce.map.memory.mb": "2048"}


def test_the_next_steps_are_printed_and_name_only_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = init("site").stdout.splitlines()
    begin = lines.index("Next:") + 1
    assert max(map(len, lines[begin:])) <= 80
    typed = [line.partition("  #")[0].strip() for line in lines[begin:]]
    assert typed == ["cd site", *(step.command for step in NEXT_STEPS)]
    for command in typed:
        words = shlex.split(command)
        if words[0] == "fawkes":
            parse(words)
        for word in words:
            if word.endswith(".toml"):
                assert (tmp_path / "site" / word).is_file()
    assert "Next:" not in init("other", "-o", "json").stdout


def test_in_the_current_folder_the_next_steps_begin_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "  cd " not in init().stdout


def test_the_next_steps_are_taken_as_far_as_they_go_without_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    init()
    for step in NEXT_STEPS:
        words = shlex.split(step.command)[1:]
        if words[0] in ("request", "submit"):
            done = CliRunner().invoke(cli, [*words, "--dry-run", "-o", "json"])
            assert done.exit_code == 0, done.output
            (row,) = json.loads(done.stdout)["rows"]
            assert row["cluster"] == "example"


def test_the_commented_keys_of_a_job_are_valid(tmp_path: Path) -> None:
    (tmp_path / "all.toml").write_text(uncommented("jobs/example.toml"))
    (job,) = load_jobs(tmp_path / "all.toml", "example")
    assert (job.tasks, job.retries, job.reference_us) == (8, 1, 90_000_000)


@pytest.mark.parametrize("name", FILES)
def test_examples_name_pages_and_no_files_of_the_checkout(name: str) -> None:
    assert "docs/" not in (EXAMPLES / name).read_text()
