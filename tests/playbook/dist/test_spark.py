from __future__ import annotations

import hashlib
import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from fawkes.base.errors import FawkesError, UserError
from fawkes.playbook.dist import cache, manifest, pieces, spark
from fawkes.playbook.dist.spark import DEFAULT_SPARK, SPARK_PINS, SparkPin, SparkRelease
from tests.playbook.dist.helpers import jar

SPARK = SPARK_PINS[DEFAULT_SPARK]
KEPT = {
    "deps/jars/spark-core_2.13-1.0.jar": "jars/spark-core_2.13-1.0.jar",
    "deps/jars/hive-storage-api-2.jar": "jars/hive-storage-api-2.jar",
    "deps/bin/spark-submit": "bin/spark-submit",
    "lib/pyspark.zip": "python/lib/pyspark.zip",
    "pyspark/shell.py": "python/pyspark/shell.py",
}
LEFT = [
    "deps/jars/hive-exec-2.jar", "deps/jars/kubernetes-client-7.jar", "deps/jars/connect-repl/x.jar", "deps/bin/sparkR",
    "deps/bin/spark-submit.cmd", "pyspark/rdd.py", "setup.py", "deps/examples/pi.py",
]  # fmt: skip


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An archive as PyPI has it, in small."""
    path = tmp_path / "pyspark-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name in [*KEPT, *LEFT]:
            info, content = tarfile.TarInfo(f"pyspark-1.0/{name}"), jar(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


@pytest.fixture
def small(tmp_path: Path, archive: Path) -> SparkPin:
    digests = {target: hashlib.sha256(jar(name)).hexdigest() for name, target in KEPT.items()}
    (tmp_path / "spark-1.0.sha256").write_text(manifest.render(digests))
    return replace(SPARK, version="1.0", digest=manifest.digest_of(archive), pinned_in=tmp_path)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAWKES_CACHE", str(tmp_path / "cache"))


def test_spark_is_made_whole_of_its_archive(small: SparkPin, archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark, "by_pip", lambda pin, folder: archive)

    assert cache.provide(small)
    assert not cache.provide(small)
    looked = cache.look(small)
    assert (looked.faults, looked.jars) == ((), 2)
    assert (cache.folder_of(small) / "bin/spark-submit").stat().st_mode & 0o111
    assert cache.cached_spark(small) == SparkRelease("1.0", str(cache.folder_of(small)))


def test_another_archive_than_the_pinned_one_leaves_nothing(
    small: SparkPin, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark, "by_pip", lambda pin, folder: archive)
    with pytest.raises(FawkesError, match=r"pyspark-1.0.tar.gz is not the file that is pinned"):
        cache.provide(replace(small, digest="0" * 64))
    assert not cache.folder_of(small).exists()
    with pytest.raises(UserError, match="`fawkes dist get spark` makes it"):
        cache.cached_spark(small)


@pytest.mark.slow
def test_what_pip_says_is_told(small: SparkPin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(FawkesError, match=r"pip failed .*Could not find a version that satisfies") as caught:
        spark.by_pip(small, tmp_path)
    assert "copy the cache of a machine that has it" in caught.value.hint


def test_every_file_is_pinned_and_the_second_hadoop_is_one_whose_classes_have_names_of_their_own() -> None:
    names = {Path(path).name for path in SPARK.jars()}
    assert {"spark-yarn_2.13-4.0.1.jar", "pyspark.zip", "spark-submit", "pyspark", "shell.py"} <= names
    assert {name for name in names if name.startswith("hadoop-")} == {
        "hadoop-client-api-3.4.1.jar",
        "hadoop-client-runtime-3.4.1.jar",
    }


def test_an_mr_cluster_needs_spark_only_where_its_file_says_so() -> None:
    assert SPARK not in pieces.of_cluster("3.5.0")
    assert SPARK in pieces.of_cluster("3.5.0", software=["spark"])
    assert pieces.of_job("spark") == (SPARK,)
    assert pieces.of_name("spark") == (SPARK,)
    needed = pieces.of_cluster("3.5.0", software=["spark"])
    assert pieces.command(needed, needed) == "`fawkes dist get 3.5.0` and `fawkes dist get spark`"
    assert pieces.command([SPARK], needed) == "`fawkes dist get spark`"


def test_the_client_is_started_with_its_own_classes() -> None:
    argv = SparkRelease("1.0", "/opt/spark").daemon_argv(
        "sparksubmit", java_home="/jvm", conf_dir="/c", heap_mb=9, extra=["-x"]
    )
    assert argv[0] == "/jvm/bin/java"
    assert argv[-3:] == ["-cp", "/c:/opt/spark/jars/*", "org.apache.spark.deploy.SparkSubmit"]
