from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError, UserError
from fawkes.workload.hibench.conf import PROFILES, read_checkout, shipped_profile, shipped_profiles

HIBENCH = """\
# Data scale profile
hibench.scale.profile                small
hibench.default.map.parallelism \t 8

hibench.hdfs.data.dir\t\t${hibench.hdfs.master}/HiBench
hibench.masters.hostnames
hibench.mahout.release.apache   apache-mahout-distribution-0.11.0
hibench.mahout.release          ${hibench.mahout.release.${hibench.hadoop.release}}
hibench.report.dir              ${hibench.home}/report
"""
HADOOP = "hibench.hdfs.master hdfs://master:8020\nhibench.hadoop.release apache\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A tree as HiBench has it, with every value that Fawkes ships."""
    conf = tmp_path / "HiBench" / "conf"
    for workload, profiles in shipped_profiles().items():
        name = workload.partition("/")[2]
        parameters = next(iter(profiles.values()))
        rows = [
            f"hibench.{name}.{profile}.{parameter}\t\t  {value}"
            for profile, values in profiles.items()
            for parameter, value in values.items()
        ]
        rows += [""]
        rows += [f"hibench.{name}.{key}  ${{hibench.{name}.${{hibench.scale.profile}}.{key}}}" for key in parameters]
        rows += [f"hibench.workload.input  ${{hibench.hdfs.data.dir}}/{name.title()}/Input"]
        file = conf / "workloads" / f"{workload}.conf"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(rows) + "\n")
    (conf / "hibench.conf").write_text(HIBENCH)
    (conf / "hadoop.conf").write_text(HADOOP)
    return tmp_path / "HiBench"


def test_all_192_values_of_the_profiles_are_read_from_a_tree_as_they_came(checkout: Path) -> None:
    count = 0
    for workload, profiles in shipped_profiles().items():
        assert read_checkout(checkout, workload).profiles() == profiles
        for profile, values in profiles.items():
            conf = read_checkout(checkout, workload, {"hibench.scale.profile": profile})
            name = workload.partition("/")[2]
            assert conf.parameters() == values
            assert {parameter: conf.text(f"hibench.{name}.{parameter}") for parameter in values} == values
            count += len(values)
    assert count == 192


@pytest.mark.parametrize(
    ("workload", "parameter", "values"),
    [
        ("micro/wordcount", "datasize", [32_000, 320_000_000, 3_200_000_000, 32 * 10**9, 320 * 10**9, 1_600 * 10**9]),
        ("micro/sort", "datasize", [32_000, 3_200_000, 320_000_000, 3_200_000_000, 32 * 10**9, 300 * 10**9]),
        ("micro/terasort", "datasize", [32_000, 3_200_000, 32_000_000, 320_000_000, 3_200_000_000, 6_000_000_000]),
        ("websearch/pagerank", "pages", [50, 5000, 500_000, 5_000_000, 30_000_000, 50_000_000]),
        ("websearch/pagerank", "num_iterations", [1, 3, 3, 3, 3, 3]),
        ("ml/kmeans", "num_of_samples", [30_000, 3_000_000, 20_000_000, 100_000_000, 200_000_000, 1_200_000_000]),
        ("ml/kmeans", "max_iteration", [5, 5, 5, 5, 5, 10]),
    ],
)  # fmt: skip
def test_values_that_are_known(workload: str, parameter: str, values: list[int]) -> None:
    assert [int(shipped_profile(workload, name)[parameter]) for name in PROFILES] == values


def test_values_refer_to_others_through_several_files(checkout: Path) -> None:
    conf = read_checkout(checkout, "micro/sort")

    assert conf.profile == "small"
    assert conf.text("hibench.workload.input") == "hdfs://master:8020/HiBench/Sort/Input"
    assert conf.text("hibench.mahout.release") == "apache-mahout-distribution-0.11.0"
    assert conf.text("hibench.report.dir") == f"{checkout}/report"
    assert conf.text("hibench.masters.hostnames") == ""
    assert conf.number("hibench.default.map.parallelism") == 8


def write(checkout: Path, text: str) -> None:
    with (checkout / "conf" / "zz-own.conf").open("a") as file:
        file.write(text)


def test_the_last_one_of_a_key_counts_and_what_is_given_wins(checkout: Path) -> None:
    write(checkout, "hibench.scale.profile large\n")

    assert read_checkout(checkout, "micro/sort").profile == "large"
    assert read_checkout(checkout, "micro/sort", {"hibench.scale.profile": "tiny"}).profile == "tiny"


def test_keys_with_a_profile_spliced_in_defaults_and_rules_with_stars(checkout: Path) -> None:
    write(checkout, "own.${hibench.scale.profile}.size 7\na ${nothing:-8}\nb ${nothing:-}\nc ${nothing:_9}\n")
    write(checkout, "old.*.x.*   new.*.y.*\nold.p.x.q 9\nodd.*   text\n")

    conf = read_checkout(checkout, "micro/sort")

    assert [conf.text(key) for key in ("own.small.size", "a", "b", "c", "new.p.y.q")] == ["7", "8", "", "9", "9"]
    assert not {"old.p.x.q", "odd.*", "old.*.x.*"} & conf.values.keys()


def test_a_profile_of_the_site_itself(checkout: Path) -> None:
    write(checkout, "hibench.sort.mine.datasize 1234\nhibench.scale.profile mine\n")

    assert read_checkout(checkout, "micro/sort").parameters() == {"datasize": "1234"}


def test_an_unknown_profile_is_refused_with_the_known_ones_and_its_line(checkout: Path) -> None:
    write(checkout, "\nhibench.scale.profile enormous\n")

    with pytest.raises(ConfigError) as caught:
        read_checkout(checkout, "micro/sort").parameters()

    assert f"{checkout}/conf/zz-own.conf:2: hibench.scale.profile" in str(caught.value)
    assert "no profile 'enormous'" in str(caught.value)
    assert "Known: tiny, small, large, huge, gigantic, bigdata" in str(caught.value)
    with pytest.raises(UserError, match=r"micro/sort has no profile 'big'.*Known: tiny, small"):
        shipped_profile("micro/sort", "big")
    with pytest.raises(UserError, match=r"no profiles of 'micro/srt'.*Did you mean 'micro/sort'"):
        shipped_profile("micro/srt", "tiny")


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ("a ${b}\n", "a", "zz-own.conf:1: a: ${b} is not defined"),
        ("a ${b:_}\n", "a", "zz-own.conf:1: a: ${b} is not defined"),
        ("\na ${b}\nb ${a}\n", "a", "zz-own.conf:3: b: refers to itself: a -> b -> a"),
        ("a 12x\n", "a", "zz-own.conf:1: a: '12x' is not a whole number"),
        ("\n# x\na ${b\n", "", "zz-own.conf:3: '${b' has a ${ that does not end"),
        ("", "hibench.scale.profil", "Did you mean 'hibench.scale.profile'?"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(checkout: Path, text: str, key: str, says: str) -> None:
    write(checkout, text)

    with pytest.raises(ConfigError) as caught:
        read_checkout(checkout, "micro/sort").number(key)

    assert says in str(caught.value)
    assert str(checkout) in str(caught.value)


def test_bytes_that_are_no_text_are_told(checkout: Path) -> None:
    (checkout / "conf" / "zz-own.conf").write_bytes(b"a \xff\n")

    with pytest.raises(ConfigError, match=r"zz-own.conf: line 1: is not UTF-8 text"):
        read_checkout(checkout, "micro/sort")


def test_what_is_no_checkout_and_what_no_workload(checkout: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"not a HiBench checkout.*conf/hibench.conf"):
        read_checkout(tmp_path, "micro/sort")
    with pytest.raises(UserError, match=r"no workload 'micro/sortt'.*Did you mean 'micro/sort'"):
        read_checkout(checkout, "micro/sortt")
