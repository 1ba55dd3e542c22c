"""Jobs of kind "spark": what their files may say, and the settings that come out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.errors import ConfigError
from fawkes.config.clusters.details import JobDetails
from fawkes.config.jobs import spark
from fawkes.config.jobs.jobs import load_jobs

SPARK = 'id = "q"\nkind = "spark"\n'
PLACE = spark.SparkPlace(
    home="/srv/spark", default_fs="hdfs://m:8020", history="m:18080", core_count=2, small=True, quick=True,
    node_mb=(2500, 2500, 2500), most_mb=2500, flags=("-Ddoor",),
)  # fmt: skip


def job(folder: Path, text: str) -> JobDetails:
    for name in ("count.py", "lib.py", "app.jar"):
        (folder / name).touch()
    (folder / "q.toml").write_text(SPARK + text)
    (spec,) = load_jobs(folder / "q.toml", "c")
    return JobDetails.of(spec.details)


def of_job(own: Mapping[str, str] = MappingProxyType({}), granted: int = 0) -> dict[str, str]:
    return spark.of_job(PLACE, own, {}, tag="fawkes-q-1", granted=granted)


def test_a_program_in_python_or_java_takes_its_files_along(tmp_path: Path) -> None:
    python = job(tmp_path, 'python = "count.py"\nfiles = ["lib.py"]\nargs = ["/out/{id}"]\n')
    java = job(tmp_path, 'jar = "app.jar"\nclass = "org.example.Main"\n')

    assert (python.python, python.args) == (str(tmp_path / "count.py"), ("/out/q",))
    assert python.files == (str(tmp_path / "lib.py"),)
    assert python.one_application
    assert (java.jar, java.main_class) == (str(tmp_path / "app.jar"), "org.example.Main")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "python: gives no program, or two"),
        ('jar = "app.jar"\n', "python: gives no program, or two"),
        ('python = "count.py"\njar = "app.jar"\nclass = "A"\n', "python: gives no program, or two"),
        ('python = "lost.py"\n', "python: there is no file"),
        ('python = "count.py"\ncommand = "true"\n', "command: means nothing for a job of kind 'spark'"),
    ],
)
def test_what_is_no_program_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        job(tmp_path, text)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("spark.authenticate", "false", "others could reach"),
        ("spark.network.crypto.enabled", "false", "others could reach"),
        ("spark.ui.port", "4040", "others could reach"),
        ("spark.driver.extraJavaOptions", "-Djava.nio.channels.spi.SelectorProvider=x", "others could reach"),
        ("spark.executor.extraJavaOptions", "-Dfawkes.doors=/tmp", "others could reach"),
        ("spark.executorEnv.HADOOP_CONF_DIR", "/tmp", "others could reach"),
        ("spark.yarn.appMasterEnv.JAVA_TOOL_OPTIONS", "-D", "others could reach"),
        ("spark.yarn.tags", "mine", "by its tag"),
        ("spark.hadoop.mapreduce.job.tags", "mine", "by its tag"),
        ("spark.yarn.queue", "other", "own queue"),
        ("spark.master", "local[*]", "decides where"),
        ("spark.submit.deployMode", "client", "decides where"),
        ("spark.hadoop.yarn.resourcemanager.address", "other:8032", "decides where"),
        ("spark.hadoop.fs.defaultFS", "hdfs://other", "decides where"),
        ("spark.kerberos.keytab", "/tmp/k", "who the application is"),
        ("spark.yarn.maxAppAttempts", "5", "`retries`"),
        ("spark.yarn.submit.waitAppCompletion", "false", "has to wait for it"),
        ("spark.eventLog.dir", "/tmp", "history server"),
        ("mapreduce.map.memory.mb", "512", "write spark.hadoop.mapreduce.map.memory.mb"),
    ],
)
def test_a_property_that_leads_around_fawkes_is_refused_by_its_name(
    tmp_path: Path, key: str, value: str, why: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        job(tmp_path, f'python = "count.py"\n[properties]\n"{key}" = "{value}"\n')
    (fault,) = str(caught.value).splitlines()
    assert f"q.toml: properties: {key} cannot be given: " in fault
    assert why in fault


def test_a_secret_leads_around_nothing_either(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"spark\.yarn\.keytab cannot be given"):
        job(tmp_path, 'python = "count.py"\n[properties]\n"spark.yarn.keytab" = { env = "K" }\n')


def test_what_is_the_user_s_own_is_taken(tmp_path: Path) -> None:
    keys = {"spark.executor.memory": "1g", "spark.driver.extraJavaOptions": "-Xss4m", "spark.executorEnv.MODE": "x"}
    rows = "".join(f'"{key}" = "{value}"\n' for key, value in keys.items())
    assert job(tmp_path, f'python = "count.py"\n[properties]\n{rows}').properties == keys


@given(st.dictionaries(st.sampled_from(sorted(spark.settings(PLACE))), st.text(max_size=5)))
def test_tag_and_deploy_mode_are_fawkes_s_whatever_a_job_says(own: dict[str, str]) -> None:
    own = {key: value for key, value in own.items() if not key.endswith(("memory", "memoryOverhead"))}
    values = of_job(own)
    assert (values[spark.TAGS], values["spark.submit.deployMode"]) == ("fawkes-q-1", "cluster")
    assert values["spark.driver.defaultJavaOptions"] == "-Ddoor"


def test_users_commands_have_a_driver_without_a_door() -> None:
    """It runs on their machine, which has neither the jar nor the list."""
    values = spark.settings(PLACE)
    assert "spark.driver.defaultJavaOptions" not in values
    assert values["spark.executor.defaultJavaOptions"] == values["spark.yarn.am.extraJavaOptions"] == "-Ddoor"


def test_executors_are_as_many_as_the_pool_has_room_for_beside_the_driver() -> None:
    # Three executors of 512 + 256 MiB on each of three nodes, one of which is the driver's.
    assert of_job()[spark.MOST] == "8"
    assert of_job({spark.MOST: "2"})[spark.MOST] == "2"


def test_with_a_grant_no_more_tasks_run_than_were_granted() -> None:
    values = of_job({"spark.dynamicAllocation.minExecutors": "5", "spark.executor.instances": "6"}, granted=3)
    assert values[spark.MOST] == "3"
    assert not {"spark.dynamicAllocation.minExecutors", "spark.executor.instances"} & values.keys()
    assert values["spark.executor.cores"] == "1"
    assert spark.unkept({}) == ""
    assert "2 cores each" in spark.unkept({"spark.executor.cores": "2"})
    assert "fixed number" in spark.unkept({"spark.dynamicAllocation.enabled": "False"})


@pytest.mark.parametrize(
    ("own", "key"),
    [
        ({}, ""),
        ({"spark.executor.memory": "2g"}, ""),
        ({"spark.executor.memory": "40g"}, "spark.executor.memory"),
        ({"spark.executor.memory": "2g", "spark.executor.memoryOverhead": "1g"}, "spark.executor.memory"),
        ({"spark.driver.memory": "2200"}, ""),
        ({"spark.driver.memory": "4000"}, "spark.driver.memory"),
        ({"spark.executor.instances": "8"}, ""),
        ({"spark.executor.instances": "10000"}, "spark.executor.instances"),
        ({"spark.dynamicAllocation.minExecutors": "9"}, "spark.dynamicAllocation.minExecutors"),
        ({"spark.executor.memory": "much"}, ""),
    ],
)
def test_an_application_that_asks_for_more_than_the_pool_is_found(own: dict[str, str], key: str) -> None:
    found, why = spark.too_much(PLACE, of_job(own))
    assert found == key
    assert bool(why) is bool(key)


@pytest.mark.parametrize(
    ("text", "mib"),
    [("512m", 512), ("1g", 1024), ("2GB", 2048), ("2048", 2048), ("1024k", 1), ("1t", 1 << 20), ("", 0)],
)
def test_sizes_are_read_as_spark_reads_them(text: str, mib: int) -> None:
    assert spark.megabytes(text) == mib


def test_a_secret_is_in_the_settings_and_never_shown() -> None:
    values = spark.of_job(PLACE, {}, {"spark.my.key": "s3"}, tag="t", granted=0)
    assert values["spark.my.key"] == "s3"
    assert r"spark\.my\.key" in values["spark.redaction.regex"]


def test_the_file_of_settings_is_what_java_reads_back() -> None:
    text = spark.to_text({"b": "x\\y", "a": "one\ntwo"})
    assert text == "a one\\ntwo\nb x\\\\y\n"


def test_larger_nodes_get_larger_executors() -> None:
    large = spark.settings(replace(PLACE, small=False))
    assert spark.container_mb(large, "executor") > spark.container_mb(spark.settings(PLACE), "executor")


def quotas(
    node_mb: tuple[int, ...], own: Mapping[str, str] = MappingProxyType({}), step_mb: int = 128
) -> dict[str, str]:
    place = replace(PLACE, node_mb=node_mb, most_mb=max(node_mb))
    nodes = spark.Nodes(held=2, most=5, cores=4, step_mb=step_mb)
    return spark.of_job(place, own, {}, tag="t", granted=1, nodes=nodes)


@given(st.integers(2000, 200_000), st.floats(1, 1.7), st.sampled_from([128, 256, 1024]))
def test_under_quotas_no_node_has_room_for_two_executors(least_mb: int, times: float, step_mb: int) -> None:
    values = quotas((least_mb, round(least_mb * times)), step_mb=step_mb)
    container = -(-spark.container_mb(values, "executor") // step_mb) * step_mb
    assert 2 * container > least_mb * times - 1
    assert container == spark.container_mb(values, "executor")


def test_under_quotas_each_node_has_one_executor_with_its_cores_beside_the_driver() -> None:
    values = quotas((2500, 2500))
    assert spark.container_mb(values, "executor") + spark.container_mb(values, "driver") <= 2500
    keys = ("spark.executor.cores", "spark.executor.instances", "spark.dynamicAllocation.minExecutors", spark.MOST)
    assert [values[key] for key in keys] == ["4", "2", "2", "5"]
    assert spark.too_much(replace(PLACE, node_mb=(2500, 2500)), values, under_quotas=True) == ("", "")


@pytest.mark.parametrize(
    ("node_mb", "own", "most"),
    [
        # With 256 MiB beside the heap: two containers fit on the largest node, or not.
        ((2500, 2500), {"spark.executor.memory": "512m"}, "2"),
        ((2500, 2500), {"spark.executor.memory": "896m"}, "2"),
        # YARN makes 1280 MiB of 1153.
        ((2500, 2500), {"spark.executor.memory": "897m"}, "5"),
        ((2500, 2500), {"spark.executor.memory": "1g"}, "5"),
        ((2500, 5000), {"spark.executor.memory": "1g"}, "2"),
        ((2500, 5000), {"spark.executor.memory": "1g", "spark.executor.memoryOverhead": "1500m"}, "5"),
        ((2500, 2500), {"spark.executor.memoryOverhead": "800m"}, "5"),
    ],
)
def test_executors_of_a_job_s_own_size_join_later_only_where_no_node_has_memory_for_two(
    node_mb: tuple[int, ...], own: dict[str, str], most: str
) -> None:
    values = quotas(node_mb, own)
    assert {key: values[key] for key in own} == own
    assert values[spark.MOST] == most


def test_event_logs_are_not_compressed_for_their_reader_knows_no_zstd() -> None:
    assert spark.settings(PLACE)["spark.eventLog.compress"] == "false"
