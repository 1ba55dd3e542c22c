from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fawkes.workload.seeds import rng


def test_the_numbers_are_the_same_in_any_process_and_of_this_version() -> None:
    """Whoever compares results over months relies on it."""
    code = "from fawkes.workload.seeds import rng; print(rng(7, 'WKLD-D', 'c-2').getrandbits(64))"
    printed = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        printed.add(
            int(
                subprocess.run([sys.executable, "-c", code], env=environment, check=True, stdout=subprocess.PIPE).stdout
            )
        )
    assert printed == {rng(7, "WKLD-D", "c-2").getrandbits(64)} == {3701874936241381061}


@pytest.mark.parametrize(
    ("seed", "labels"),
    [(8, ("ab", "c")), (7, ("a", "bc")), (7, ("ab", "c", "")), (7, ("abc",)), (7, ("c", "ab")), (7, ()), (7, ("é",))],
)
def test_another_seed_or_purpose_has_numbers_of_its_own(seed: int, labels: tuple[str, ...]) -> None:
    assert rng(seed, *labels).random() != rng(7, "ab", "c").random()


def test_drawing_for_one_purpose_leaves_the_others_alone() -> None:
    first, second = rng(7, "sizes"), rng(7, "times")
    alone = [second.random() for _ in range(5)]
    second = rng(7, "times")
    mixed = [(first.random(), second.random())[1] for _ in range(5)]
    assert mixed == alone
