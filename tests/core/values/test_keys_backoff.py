"""Keys of what is pending, and the one rule for how long to wait before the next try."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.units import SECOND_US
from fawkes.core.state.backoff import wait_us
from fawkes.core.values.effects import CancelJob, Deploy, Effect, Host, Load, Membership, Retire, Save, StartJob, Survey
from fawkes.core.values.keys import Key, split
from fawkes.core.values.model import ClusterId, ClusterSpec, JobId, JobSpec, NodeId
from fawkes.core.values.settings import Settings

A, N, J = ClusterId("a"), NodeId("n"), JobId("j")


@pytest.mark.parametrize(
    ("effect", "kind", "name"),
    [
        (Host(N, A, None, 1), Key.HOST, "n"),
        (Deploy(A, 1, ClusterSpec(id=A, min_nodes=1), {}, N), Key.CLUSTER, "a"),
        (Load(A, 1), Key.CLUSTER, "a"),
        (Save(A, 1), Key.CLUSTER, "a"),
        (Retire(A, 1), Key.CLUSTER, "a"),
        (Membership(A, 1), Key.MEMBERSHIP, "a"),
        (Survey(A, 1, {}), Key.SURVEY, "a"),
        (StartJob(J, A, 1, JobSpec(id=J, cluster=A)), Key.JOB, "j"),
        (CancelJob(J, A, 1), Key.JOB, "j"),
    ],
)
def test_effects_have_the_keys_that_the_core_knows(effect: Effect, kind: Key, name: str) -> None:
    assert effect.key == kind.of(name)
    assert split(effect.key) == (kind, name)


@given(st.sampled_from(Key), st.text())
def test_a_key_is_split_into_what_it_was_made_of(kind: Key, name: str) -> None:
    assert split(kind.of(name)) == (kind, name)


def test_the_tick_has_no_name() -> None:
    assert split("tick") == (Key.TICK, "")


@pytest.mark.parametrize("key", ["", "hosts:n", ":n", "HOST:n"])
def test_a_kind_that_there_is_not_is_an_error(key: str) -> None:
    with pytest.raises(ValueError, match="not a valid Key"):
        split(key)


@pytest.mark.parametrize(
    ("tries", "seconds"), [(-1, 2), (0, 2), (1, 2), (2, 4), (3, 8), (4, 16), (5, 30), (6, 30), (10**9, 30)]
)
def test_waits_double_up_to_a_bound(tries: int, seconds: int) -> None:
    assert wait_us(Settings(), tries) == seconds * SECOND_US


@given(st.integers(1, 10**12), st.integers(1, 10**12), st.integers(0, 10**6))
def test_a_wait_never_shrinks_and_never_exceeds_its_bound(first_us: int, most_us: int, tries: int) -> None:
    how = Settings(retry_first_us=first_us, retry_max_us=most_us)
    assert 0 < wait_us(how, tries) <= wait_us(how, tries + 1) <= most_us
