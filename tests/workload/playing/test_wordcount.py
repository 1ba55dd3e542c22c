from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.workload.playing.wordcount import counts, saved_counts


def test_words_are_what_blanks_divide(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("a b\n\n a\ta")
    (tmp_path / "two").write_text("Ä\n")
    assert counts(tmp_path) == {b"a": 3, b"b": 1, "Ä".encode(): 1}


def test_what_was_written_is_read_from_all_files(tmp_path: Path) -> None:
    (tmp_path / "part-r-00000").write_text("a\t3\nb\t1\n")
    (tmp_path / "part-r-00001").write_text("Ä\t1\n")
    assert saved_counts(tmp_path) == {b"a": 3, b"b": 1, "Ä".encode(): 1}
    (tmp_path / "part-r-00002").write_text("a\t3\n")
    with pytest.raises(ValueError, match="'a' is counted twice"):
        saved_counts(tmp_path)
