"""Cores of a node: Table 1, gamma, and laws for every bundled policy."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.core.quota.supervisor import share, supervise
from fawkes.core.quota.values import Claim, Portion
from tests.core.quota.support import NAMES, quota, table_1

POLICIES = {name: quota(name) for name in NAMES}


def given_by(name: str, claims: list[Claim], cores: float = 16, gamma: float = 0.0) -> dict[str, float]:
    return supervise(claims, cores, POLICIES[name], gamma=gamma, quantum=0.05)


@pytest.mark.parametrize(
    ("name", "cores", "exact"),
    [
        ("edf_all", (16, 0, 0), (16, 0, 0)),
        ("edf_pure", (10, 6, 0), (10, 6, 0)),
        ("edf_prop", (7.75, 5.35, 2.90), (7.7576, 5.3333, 2.9091)),
        ("proportional", (5.35, 4.25, 6.40), (5.3333, 4.2667, 6.4000)),
        ("speed", (4, 4, 8), (4, 4, 8)),
        ("weights", (5.3, 5.35, 5.35), (5.3333, 5.3333, 5.3333)),
    ],
)
def test_table_1(name: str, cores: tuple[float, ...], exact: tuple[float, ...]) -> None:
    assert tuple(share(table_1(), 16, POLICIES[name]).values()) == pytest.approx(exact, abs=1e-3)
    for gamma in (0.0, 1.0):
        assert tuple(given_by(name, table_1(), gamma=gamma).values()) == pytest.approx(cores, abs=0.051)
        assert sum(given_by(name, table_1(), gamma=gamma).values()) <= 16


@pytest.mark.parametrize(("requests", "kept"), [((3, 2), True), ((4, 7), False), ((4, 4), True)])
def test_figure_7_what_is_feasible_is_granted(requests: tuple[float, float], kept: bool) -> None:
    claims = [replace(claim, requested=each) for claim, each in zip(table_1(), requests, strict=False)]
    for name in NAMES:
        given = given_by(name, claims, cores=8)
        assert (tuple(given.values()) == requests) == kept
        assert sum(given.values()) <= 8


def test_small_requests_are_met_and_what_they_leave_is_shared() -> None:
    claims = [replace(claim, requested=each) for claim, each in zip(table_1(), (2, 8, 12), strict=True)]
    assert tuple(share(claims, 16, POLICIES["edf_prop"]).values()) == pytest.approx((2, 8, 6))


def test_minimums_are_a_part_of_what_is_shared() -> None:
    claims = [replace(claim, least=1.0) for claim in table_1()]
    assert tuple(share(claims, 16, POLICIES["edf_all"]).values()) == pytest.approx((14, 1, 1))


def test_who_has_a_place_in_the_order_takes_nothing_of_what_others_share() -> None:
    first, *others = (replace(claim, most=most) for claim, most in zip(table_1(), (4, 16, 16), strict=True))
    portions = [Portion(first=1.0, weight=9.0), Portion(weight=1.0), Portion(weight=2.0)]
    assert tuple(share([first, *others], 16, lambda claims: portions).values()) == pytest.approx((4, 4, 8))


@pytest.mark.parametrize("name", NAMES)
def test_the_only_claim_gets_what_it_requests(name: str) -> None:
    only = [Claim(id="a", requested=9, most=12, left_s=30, rate=10)]
    assert given_by(name, only) == {"a": 9}
    assert given_by(name, only, gamma=1.0) == {"a": 12}
    assert given_by(name, only, gamma=0.5) == {"a": 10.5}


@pytest.mark.parametrize(
    ("left", "weights"), [((7.0,), [1.0]), ((5.0, 5.0), [0.5, 0.5]), ((50.0, 60.0, 70.0), [0.9697, 0.6667, 0.3636])]
)
def test_weights_of_edf_prop_sum_to_one_less_than_claims(left: tuple[float, ...], weights: list[float]) -> None:
    claims = [Claim(id=str(place), requested=9, most=16, left_s=each) for place, each in enumerate(left)]
    answered = [portion.weight for portion in POLICIES["edf_prop"](claims)]
    assert answered == pytest.approx(weights, abs=1e-4)
    assert sum(answered) == pytest.approx(max(1, len(left) - 1))


@pytest.mark.parametrize("name", ["edf_all", "edf_pure"])
def test_equal_deadlines_are_served_by_submission(name: str) -> None:
    claims = [
        Claim(id="a", requested=9, most=9, left_s=60, submitted_s=8),
        Claim(id="b", requested=9, most=9, left_s=60, submitted_s=5),
    ]
    assert given_by(name, claims, cores=10) == {"a": 1, "b": 9}


@pytest.mark.parametrize("name", ["edf_all", "edf_pure", "edf_prop"])
def test_a_passed_deadline_comes_first_and_none_comes_last(name: str) -> None:
    claims = [
        Claim(id="none", requested=10, most=10),
        Claim(id="far", requested=10, most=10, left_s=900),
        Claim(id="late", requested=10, most=10, left_s=-3),
    ]
    given = given_by(name, claims, cores=18)
    assert given["late"] >= given["far"] >= given["none"]
    assert sum(given.values()) == pytest.approx(18)


@pytest.mark.parametrize("name", NAMES)
def test_who_is_early_and_requests_nothing_gets_what_gamma_says(name: str) -> None:
    claims = [replace(claim, requested=0.0) for claim in table_1()]
    assert [sum(given_by(name, claims, gamma=gamma).values()) for gamma in (0.0, 0.5, 1.0)] == pytest.approx(
        [0, 8, 16], abs=0.1
    )


@st.composite
def claims_of(draw: st.DrawFn) -> list[Claim]:
    return [
        Claim(
            id=f"e{place}",
            requested=draw(st.integers(0, 320)) * 0.05,
            most=draw(st.integers(0, 16)),
            left_s=draw(st.none() | st.floats(-100, 1000)),
            rate=draw(st.none() | st.floats(1, 1e7)),
            weight=draw(st.just(0.0) | st.floats(1e-6, 1)),
            submitted_s=draw(st.integers(0, 9)),
        )
        for place in range(draw(st.integers(1, 6)))
    ]


@given(st.sampled_from(NAMES), claims_of(), st.floats(0, 1), st.sampled_from([0.05, 0.5, 1.0]))
def test_quotas_never_exceed_a_node_or_what_can_be_used(
    name: str, claims: list[Claim], gamma: float, quantum: float
) -> None:
    given = supervise(claims, 16, POLICIES[name], gamma=gamma, quantum=quantum)
    assert sum(given.values()) <= 16 + 1e-9
    assert all(0 <= given[claim.id] <= claim.most + quantum / 2 + 1e-9 for claim in claims)


@given(st.sampled_from(NAMES), claims_of())
def test_without_contention_and_gamma_each_gets_exactly_its_request(name: str, claims: list[Claim]) -> None:
    requested = {claim.id: min(claim.requested, claim.most) for claim in claims}
    if sum(requested.values()) <= 16:
        assert given_by(name, claims) == requested
    else:
        assert sum(given_by(name, claims).values()) == pytest.approx(16, abs=0.05 * len(claims))


@given(st.sampled_from(NAMES), claims_of())
def test_all_that_can_work_works_with_gamma_1(name: str, claims: list[Claim]) -> None:
    able = min(16.0, sum(claim.most for claim in claims))
    assert sum(share(claims, 16, POLICIES[name]).values()) == pytest.approx(able)


@given(st.sampled_from(NAMES), claims_of(), st.randoms())
def test_the_order_of_claims_does_not_matter(name: str, claims: list[Claim], random: object) -> None:
    mixed = list(claims)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert share(mixed, 16, POLICIES[name]) == pytest.approx(share(claims, 16, POLICIES[name]))


@given(st.sampled_from([name for name in NAMES if name != "edf_prop"]), claims_of(), st.sampled_from([0.5, 2.0, 8.0]))
def test_shares_scale_with_cores(name: str, claims: list[Claim], by: float) -> None:
    larger = [replace(claim, requested=claim.requested * by, most=claim.most * by) for claim in claims]
    scaled = {each: part * by for each, part in share(claims, 16, POLICIES[name]).items()}
    assert share(larger, 16 * by, POLICIES[name]) == pytest.approx(scaled, abs=1e-6)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([], "for 3 claims"),
        (7, "answered 7"),
        ([1, 2, 3], "not a Portion"),
        ([Portion(weight=float("nan"))] * 3, "weight of the portion of A is nan"),
        ([Portion(weight=10**400)] * 3, "weight of the portion of A is 1000"),
        ([Portion(weight=-1.0)] * 3, "weight of the portion of A is -1"),
        ([Portion(first=float("inf"))] * 3, "first of the portion of A is inf"),
        ([Portion(most=-1.0)] * 3, "most of the portion of A is -1"),
    ],
)
def test_what_a_policy_cannot_answer(answer: list[Portion], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        supervise(table_1(), 16, lambda claims: answer, gamma=0, quantum=0.05)
