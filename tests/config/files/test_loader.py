from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import Field

from fawkes.base.errors import ConfigError
from fawkes.config.files.loader import Faults, ManyConfigError, Strict, check, did_you_mean, load, read_toml
from tests.config.support import Bad, assert_refused, cases, refusals, write


class Inner(Strict):
    name: str = Field(description="a name for it")
    number: int = Field(default=1)


class Outer(Strict):
    version: str = Field(default="")
    flag: bool = Field(default=False)
    share: float = Field(default=0.5)
    inner: list[Inner] = Field(default=[])
    table: dict[str, Inner] = Field(default={})
    maybe: Inner | None = Field(default=None)


@cases(
    syntax=Bad("version =\n", "line 1, column 10", "not valid TOML: invalid value", "quotes"),
    unquoted=Bad("version = abc", "line 1, column 11", "not valid TOML", "quotes"),
    key_twice=Bad('version = "1"\nversion = "2"', "end of document", "cannot overwrite", "once"),
    unclosed=Bad('version = "1', "end of document", "not valid TOML"),
    unknown_key=Bad("versoin = 1", "versoin", "unknown key 'versoin'", "Did you mean 'version'?"),
    unknown_far=Bad("zzz = 1", "zzz", "unknown key 'zzz'", "Known: flag, inner, maybe, share, table, version"),
    unknown_deep=Bad('[[inner]]\nname = "a"\nnumbr = 2', "inner[a].numbr", "unknown key", "Did you mean 'number'?"),
    unknown_in_table=Bad('[table.x]\nname = "a"\nnmae = 2', "table.x.nmae", "unknown key", "Did you mean 'name'?"),
    unknown_in_optional=Bad('[maybe]\nname = "a"\nnmae = 2', "maybe.nmae", "unknown key", "Did you mean 'name'?"),
    float_for_text=Bad("version = 3.10", "version", "3.1 is a number, not text", '"3.10"'),
    int_for_text=Bad("version = 3", "version", "3 is a whole number, not text", '"3"'),
    text_for_bool=Bad('flag = "yes"', "flag", "'yes' is text, not true or false"),
    bool_for_int=Bad('[[inner]]\nname = "a"\nnumber = true', "inner[a].number", "true is true or false, not a whole"),
    float_for_int=Bad('[[inner]]\nname = "a"\nnumber = 1.5', "inner[a].number", "1.5 is a number, not a whole number"),
    not_a_number=Bad("share = nan", "share", "nan is wrong"),
    infinite=Bad("share = inf", "share", "inf is wrong"),
    date_for_text=Bad("version = 2026-01-01", "version", "2026-01-01 is a date or time, not text"),
    dates_for_text=Bad("version = [true, 07:32:00]", "version", "[true, 07:32:00] is a list, not text"),
    table_twice=Bad("[table.x]\n[table.x]", "line 2, column 9", "cannot declare [table.x] twice", "once"),
    text_for_table=Bad('maybe = "x"', "maybe", "'x' is text, not a table"),
    table_for_list=Bad('[inner]\nname = "x"', "inner", "{name = 'x'} is a table, not a list", "Write [[inner]]"),
    missing=Bad("[[inner]]\nnumber = 1", "inner[#1].name", "is missing", "Give a name for it"),
)
def test_a_file_that_is_wrong_names_file_key_value_and_what_is_right(bad: Bad, tmp_path: Path) -> None:
    path = write(tmp_path, "some.toml", bad.text)
    assert_refused(bad, path, lambda: load(Outer, path))


def test_a_sound_file_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, "some.toml", 'version = "3.10"\nshare = 1\n[[inner]]\nname = "ä"\n[table.a]\nname = "b"')
    read = load(Outer, path)
    assert (read.version, read.share, read.inner[0].name, read.table["a"].name) == ("3.10", 1.0, "ä", "b")


def test_all_faults_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, "some.toml", "flag = 1\nversoin = 2\n[[inner]]\nnumber = 'x'")
    errors = refusals(lambda: load(Outer, path))
    assert [error.key for error in errors] == ["flag", "inner[#1].name", "inner[#1].number", "versoin"]
    with pytest.raises(ManyConfigError) as caught:
        load(Outer, path)
    assert str(caught.value).count(str(path)) == 4
    assert (caught.value.file, caught.value.key) == (str(path), "flag")


def test_a_long_value_is_cut(tmp_path: Path) -> None:
    path = write(tmp_path, "some.toml", f'flag = "{"x" * 5000}"')
    assert len(str(refusals(lambda: load(Outer, path))[0])) < len(str(path)) + 200


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "no.toml"
    assert_refused(Bad("", "", "no such file", "write one"), missing, lambda: read_toml(missing, hint="write one"))
    assert_refused(Bad("", "", "is a folder, not a file", "regular file"), tmp_path, lambda: read_toml(tmp_path))
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b'title = "\xe4"')
    assert_refused(
        Bad("", "line 1", "not UTF-8 text (byte 9)", "Save the file as UTF-8"), latin, lambda: read_toml(latin)
    )


def test_something_else_than_a_table_is_refused() -> None:
    (error,) = refusals(lambda: check(Outer, [1], file="f", key="settings"))
    assert (error.key, error.what) == ("settings", "[1] is a list, not a table")


def test_faults_place_their_keys_in_the_table_that_they_are_about() -> None:
    faults = Faults("f.toml", "job[a]")
    faults.refuse()
    faults.add("is wrong", "jar", "Right is x")
    with pytest.raises(ConfigError) as caught:
        faults.refuse()
    assert str(caught.value) == "f.toml: job[a].jar: is wrong. Right is x"


def test_advice_is_the_nearest_name_or_all_of_them() -> None:
    assert did_you_mean("pol1cy", ["policy", "period"]) == "Did you mean 'policy'?"
    assert did_you_mean("x", ["b", "a"]) == "Known: a, b"
    assert did_you_mean("x", []) == ""
