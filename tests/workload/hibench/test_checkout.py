"""A site's own HiBench under checkout.sh: stand-ins that do what the real scripts were seen to do.

Those of HiBench 7 and 8 read their configuration by a script that begins with ``#!/usr/bin/env python2``; write to
/dev/stderr by its name, which cuts a file; talk on standard output; start a monitor by another script of Python.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from fawkes.config.clusters.details import JobDetails
from fawkes.config.jobs.jobs import job_of
from fawkes.live.hadoop.hadoop_conf import to_xml
from fawkes.workload.hibench.programs import checkout_program
from fawkes.workload.hibench.report import HEADER, ReportRow, read

PREPARE = """#!/bin/bash
root=$(cd "$(dirname "$0")/../../../../.."; pwd)
test -w "$root/bin/functions/load_config.py" || exit 8
echo "start prepare"
echo "hdfs rm -r" >/dev/stderr
echo "Submitted application application_1_0001" >&2
"""
RUN = f"""#!/bin/bash
root=$(cd "$(dirname "$0")/../../../../.."; pwd)
test -f "$root/sparkbench/jar" || exit 9
echo "hdfs du -s" >/dev/stderr
echo "finish run"
report=$(sed -n 's/^hibench.report.dir //p' "$root"/conf/*.conf | tail -n 1)
mkdir -p "$report"
printf '{HEADER.strip()}\\n' >"$report/hibench.report"
echo "HadoopSort 2026-11-21 10:00:00 1 2.5 3 4" >>"$report/hibench.report"
"""
YARN = """#!/bin/sh
echo 'Total Nodes:2'
for n in 1 2; do echo "n$n:8041 RUNNING n$n:8042 0"; done
"""
LOAD_CONFIG = "#!/usr/bin/env {}\nprint('configuration')\n"
EXAMPLES = "hadoop-mapreduce-examples-3.4.2.jar"
TESTS = "hadoop-mapreduce-client-jobclient-3.5.0-tests.jar"


@dataclass
class Site:
    """A checkout, and a master with a release of Hadoop and a `yarn` that knows two nodes."""

    place: Path

    @property
    def checkout(self) -> Path:
        return self.place / "site's HiBench"

    @property
    def work(self) -> Path:
        return self.place / "work"

    @property
    def home(self) -> Path:
        return self.place / "hadoop"

    def write(self, name: str, text: str) -> None:
        """A file of the checkout."""
        file = self.checkout / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def run(self, workload: str = "sort", profile: str = "", *, path: str = "", programs: str = "") -> int:
        """The job's command as a launcher runs it, its outputs in files; its exit code."""
        table = checkout_program(str(self.checkout), workload, profile, path=path)
        for file in table["files"]:
            (self.work / Path(file).name).write_bytes(Path(file).read_bytes())
        env = {
            "PATH": f"{self.place}/programs:{programs or os.environ['PATH']}",
            "HADOOP_HOME": str(self.home),
            "HADOOP_CONF_DIR": str(self.place / "conf"),
        }
        with (self.work / "stdout").open("wb") as out, (self.work / "stderr").open("wb") as err:
            argv = ["/bin/sh", "-c", table["command"]]
            return subprocess.run(argv, cwd=self.work, env=env, stdout=out, stderr=err, check=False).returncode

    def said(self) -> str:
        """The text on standard error."""
        return (self.work / "stderr").read_text()

    def given(self) -> list[str]:
        """The lines of the configuration file that HiBench reads last."""
        return (self.work / "hibench" / "conf" / "zz-fawkes.conf").read_text().splitlines()


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path)
    for name, text in (
        ("conf/hibench.conf", "hibench.scale.profile small\nhibench.report.dir /nowhere/of/the/site\n"),
        ("bin/functions/load_config.py", LOAD_CONFIG.format("python3")),
        ("bin/workloads/micro/sort/prepare/prepare.sh", PREPARE),
        ("bin/workloads/micro/sort/hadoop/run.sh", RUN),
        ("sparkbench/jar", ""),
        ("report/hibench.report", "old"),
    ):
        site.write(name, text)
    for name in ("work", "programs", "conf", "hadoop"):
        (tmp_path / name).mkdir()
    for name in ("yarn", "bc"):
        (tmp_path / "programs" / name).write_text(YARN)
        (tmp_path / "programs" / name).chmod(0o755)
    xml = to_xml({"fs.defaultFS": "hdfs://m:8020", "io.file.buffer.size": "65536"})
    (tmp_path / "conf" / "core-site.xml").write_text(xml)
    return site


def jars(site: Site, folder: str) -> None:
    (site.home / folder).mkdir(parents=True)
    for name in (EXAMPLES, TESTS, "hadoop-mapreduce-client-jobclient-3.5.0.jar"):
        (site.home / folder / name).touch()


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["lib", "share/hadoop/mapreduce"])
def test_the_last_file_that_hibench_reads_names_the_mr_cluster_and_the_jars_wherever_they_are(
    site: Site, folder: str
) -> None:
    jars(site, folder)

    assert site.run(profile="tiny") == 0, site.said()

    given = site.given()
    for line in (
        f"hibench.home {site.work}/hibench",
        f"hibench.report.dir {site.work}/hibench/report",
        f"hibench.hadoop.home {site.home}",
        f"hibench.hadoop.executable {site.home}/bin/hadoop",
        f"hibench.hadoop.configure.dir {site.place}/conf",
        f"hibench.hadoop.examples.jar {site.home}/{folder}/{EXAMPLES}",
        f"hibench.hadoop.examples.test.jar {site.home}/{folder}/{TESTS}",
        "hibench.hdfs.master hdfs://m:8020",
        "hibench.slaves.hostnames n1 n2",
        "hibench.scale.profile tiny",
    ):
        assert line in given
    assert sorted((site.work / "hibench" / "conf").glob("*.conf"))[-1].name == "zz-fawkes.conf"


@pytest.mark.slow
def test_a_release_without_such_jars_is_for_hibench_to_tell(site: Site) -> None:
    assert site.run() == 0, site.said()
    assert not [line for line in site.given() if ".jar" in line or "scale.profile" in line]


@pytest.mark.slow
def test_standard_output_is_the_report_alone_and_nothing_said_is_lost(site: Site) -> None:
    assert site.run() == 0, site.said()

    assert read(site.work / "stdout") == [ReportRow("HadoopSort", "2026-11-21 10:00:00", 1, 2.5, 3, 4)]
    said = [line for line in site.said().splitlines() if not line.startswith("Total")]
    assert said == [
        "start prepare",
        "hdfs rm -r",
        "Submitted application application_1_0001",
        "hdfs du -s",
        "finish run",
    ]


def test_the_checkout_is_not_written_to_even_where_it_is_links_and_read_only(site: Site) -> None:
    (site.checkout / "conf").rename(site.place / "our-conf")
    (site.checkout / "conf").symlink_to(site.place / "our-conf")
    (site.checkout / "bin" / "functions" / "load_config.py").chmod(0o555)
    before = {
        path: path.is_dir() or path.read_bytes() for path in site.place.rglob("*") if site.work not in path.parents
    }

    assert site.run() == 0, site.said()

    after = {
        path: path.is_dir() or path.read_bytes() for path in site.place.rglob("*") if site.work not in path.parents
    }
    assert after == before


@pytest.mark.parametrize(("prepare", "run", "code"), [("exit 5", RUN, 5), (PREPARE, "echo begun; exit 6", 6)])
def test_the_job_fails_as_hibench_s_scripts_do_and_has_no_report(site: Site, prepare: str, run: str, code: int) -> None:
    site.write("bin/workloads/micro/sort/prepare/prepare.sh", prepare)
    site.write("bin/workloads/micro/sort/hadoop/run.sh", run)

    assert site.run() == code
    assert ("begun" in site.said()) is (code == 6)
    assert (site.work / "stdout").read_text() == ""


@pytest.mark.slow
@pytest.mark.parametrize("script", ["load_config.py", "monitor.py"])
def test_the_python_that_hibench_s_scripts_ask_for_is_looked_for_before_anything_runs(site: Site, script: str) -> None:
    site.write(f"bin/functions/{script}", LOAD_CONFIG.format("python2-of-nobody"))

    assert site.run() == 2

    assert f"{script} needs python2-of-nobody, which is not in " in site.said()
    assert not (site.work / "hibench").exists()


def test_a_script_of_another_python_is_refused_too(site: Site) -> None:
    site.write("bin/functions/load_config.py", "#!/usr/bin/env python3\nprint 'configuration'\n")

    assert site.run() == 2
    assert "load_config.py cannot be read by the python3 in " in site.said()


def test_a_python_elsewhere_is_found_by_its_folder(site: Site) -> None:
    site.write("bin/functions/load_config.py", LOAD_CONFIG.format("python2-of-the-site"))
    elsewhere = site.place / "its python"
    elsewhere.mkdir()
    (elsewhere / "python2-of-the-site").write_text("#!/bin/sh\nexit 0\n")
    (elsewhere / "python2-of-the-site").chmod(0o755)

    assert site.run(path=str(elsewhere)) == 0, site.said()


def test_without_bc_there_would_be_no_report(site: Site) -> None:
    (site.place / "programs" / "bc").unlink()
    (site.checkout / "bin" / "functions" / "load_config.py").unlink()
    few = site.place / "few"
    few.mkdir()
    for name in ("bash", "sed"):
        (few / name).symlink_to(next(p for p in map(Path, os.get_exec_path()) if (p / name).exists()) / name)

    assert site.run(programs=str(few)) == 2
    assert "HiBench's report needs bc" in site.said()


def test_a_checkout_without_the_workload_is_told(site: Site) -> None:
    assert site.run("kmeans") == 2
    assert "has no bin/workloads/ml/kmeans/prepare/prepare.sh" in site.said()


@pytest.mark.parametrize("path", ["", "/opt/python 2/bin"])
def test_the_table_is_a_job_that_can_be_submitted(path: str) -> None:
    spec = job_of(checkout_program("/opt/HiBench", "terasort", path=path), cluster="c", file="here", folder=Path())
    assert spec.id == "hibench-micro-terasort"
    command = str(JobDetails.of(spec.details).command)
    assert (
        command == ("PATH='/opt/python 2/bin':$PATH " if path else "") + "bash checkout.sh /opt/HiBench micro/terasort"
    )
