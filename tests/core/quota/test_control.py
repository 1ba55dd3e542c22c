"""The PI controller by the golden traces and margins of the fact sheet (1.6)."""

from __future__ import annotations

import cmath
from math import atan, degrees, pi, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.core.quota import control
from fawkes.core.quota.values import Parameters
from tests.core.quota.support import FINE, Stage


@pytest.mark.parametrize(
    ("pole", "requests", "percents"),
    [
        (0.0, (5.0000, 6.5811, 6.7393, 6.3974, 5.9555, 5.5667, 5.2735, 5.0730), (0, 0, 0.5, 1.158, 1.832)),
        (0.5, (5.0000, 5.7906, 6.2254, 6.4198, 6.4566, 6.3942, 6.2739, 6.1237), ()),
    ],
)
def test_traces_t1_and_t2(pole: float, requests: tuple[float, ...], percents: tuple[float, ...]) -> None:
    stage = Stage(pole=pole).run()
    assert stage.requests[:8] == pytest.approx(list(requests), abs=1e-3)
    assert stage.percents[: len(percents)] == pytest.approx(list(percents), abs=1e-3)
    assert stage.end_s == pytest.approx(100.0, abs=0.01)


@pytest.mark.parametrize(("pole", "gain", "zero"), [(0.0, 3.1623, 0.9), (0.5, 1.5811, 0.95)])
def test_gains_of_eq_17(pole: float, gain: float, zero: float) -> None:
    assert control.gain_of(1000, 2, Parameters(pole=pole)) == pytest.approx((gain, zero), abs=1e-3)


@pytest.mark.parametrize(("true", "area", "peak"), [(0.5, 1005, 11.78), (1.3, 386.5, None)])
def test_the_ramp_is_followed_at_other_rates_than_the_nominal(true: float, area: float, peak: float | None) -> None:
    stage = Stage(true=true).run()
    assert stage.end_s == pytest.approx(100.0, abs=0.1)
    assert stage.area == pytest.approx(area, rel=2e-3)
    if peak is not None:
        assert max(stage.given[:190]) == pytest.approx(peak, abs=0.01)


@pytest.mark.parametrize(("back", "end_s"), [(True, 100.00), (False, 100.89)])
def test_a_cap_winds_nothing_up_when_the_state_is_calculated_back(back: bool, end_s: float) -> None:
    stage = Stage().run(lambda now_s: 2.0 if 30 <= now_s < 50 else 16.0, back=back)
    assert stage.end_s == pytest.approx(end_s, abs=0.25 if not back else 0.1)
    assert back or (stage.end_s or 0) > 100.2


def test_phi_ends_a_stage_earlier() -> None:
    assert Stage(phi=0.95).run().end_s == pytest.approx(95.0, abs=0.1)


@given(st.floats(0.5, 1.3), st.floats(0, 0.6))
def test_no_error_remains_on_a_ramp(true: float, pole: float) -> None:
    """X5: within 0.1 % of the time, with poles whose settling of 20 tau_r fits into it."""
    assert Stage(true=true, pole=pole).run().end_s == pytest.approx(100.0, abs=0.1)


def _margin(eta: float, pole: float) -> float:
    """The phase margin of the sampled loop, in degrees."""

    def loop(omega: float) -> complex:
        z = cmath.exp(1j * omega)
        _, zero = control.gain_of(1, 1, Parameters(eta=eta, pole=pole))
        return (1 - pole) ** 2 / sqrt(eta) * (z - zero) / ((z - 1) ** 2 * (z - pole))

    low, high = 1e-7, 3.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if abs(loop(middle)) > 1 else (low, middle)
    phase = degrees(cmath.phase(loop(low)))
    return (phase if phase < 90 else phase - 360) + 180


@pytest.mark.parametrize(
    ("eta", "pole", "margin"),
    [(10, 0, 44.5), (10, 0.2, 46.5), (10, 0.5, 49.6), (10, 0.8, 52.8), (5, 0, 25.4), (20, 0, 57.9), (2, 0, -13.5)],
)
def test_margins_of_the_sampled_loop(eta: float, pole: float, margin: float) -> None:
    assert _margin(eta, pole) == pytest.approx(margin, abs=0.1)


@pytest.mark.parametrize(
    ("eta", "margin"),
    [(2, 19.47), (4, 36.87), (5, 41.81), (8, 51.06), (10, 54.90), (15, 61.04), (20, 64.79), (50, 73.90)],
)
def test_margins_of_eq_16(eta: float, margin: float) -> None:
    assert degrees(atan(sqrt(eta)) - atan(1 / sqrt(eta))) == pytest.approx(margin, abs=0.01)
    assert _margin(eta, 0.9995) == pytest.approx(margin, abs=0.1)
    assert 0 < margin < degrees(pi / 2)


def test_a_lost_core_of_five_is_absorbed_within_five_response_times() -> None:
    """The fact sheet: 11 to 12 % of the lost core above its final value at 5 tau_r, 22 to 31 % of the peak error."""
    parameters = Parameters(quantum=FINE)
    # At 50 s a fifth of the speed is gone for good: 5 cores do what 4 did, and 6.25 are needed.
    state = control.begin(1000, 2, now_s=0, deadline_s=100, initial=5, parameters=parameters)
    rate, done, errors, given = 0.0, 0.0, list[float](), list[float]()
    for step in range(180):
        now_s = step * 0.5
        state, wanted = control.request(state, now_s, done, most=16, parameters=parameters)
        state = control.apply(state, wanted)
        errors.append(abs(state.error))
        given.append(wanted)
        done += 0.5 * rate
        rate = 2 * (wanted - (1 if now_s >= 50 else 0))
    after = 100 + round(5 * sqrt(10))
    assert given[-1] == pytest.approx(6.0, abs=0.01)
    assert 0.05 < abs(given[after] - 6.0) < 0.15
    assert 0.2 < errors[after] / max(errors[90:]) < 0.35


def begun(initial: float = 5.0) -> control.Control:
    return control.begin(1000, 2, now_s=0, deadline_s=100, initial=initial, parameters=Parameters())


def test_progress_that_is_not_known_changes_nothing() -> None:
    state = begun()
    assert control.request(state, 0.5, None, most=16, parameters=Parameters()) == (state, 5.0)
    assert control.request(state, 0.5, None, most=3, parameters=Parameters())[1] == 3


def test_after_its_deadline_a_stage_requests_all_that_it_can_use() -> None:
    assert control.request(begun(), 100, 990, most=7, parameters=Parameters())[1] == 7
    assert begun().set_point(1e9) == 100


@pytest.mark.parametrize(("least", "cores"), [(0.0, 0.0), (0.01, 0.01)])
def test_a_stage_far_ahead_requests_its_least(least: float, cores: float) -> None:
    assert control.request(begun(), 0.5, 900, most=16, parameters=Parameters(least=least))[1] == cores


def test_requests_are_rounded_up_to_quanta() -> None:
    state, first = control.request(begun(), 0, 0, most=16, parameters=Parameters())
    _, second = control.request(control.apply(state, first), 0.5, 0, most=16, parameters=Parameters())
    assert (first, second) == (5.0, 6.6)


@given(st.floats(1, 2000), st.floats(0.5, 16), st.floats(1, 80), st.floats(0, 900))
def test_a_rebased_controller_does_not_jump(work: float, applied: float, now_s: float, done: float) -> None:
    """X7: its set point starts from 0 % now, its gain is that of its new work, and it requests what it has."""
    parameters = Parameters(quantum=FINE)
    state = control.rebase(control.apply(begun(), applied), now_s, done, work, 2, 100, parameters)
    assert state.set_point(now_s) == state.progress(done) == 0
    assert state.set_point(100) == 100 == pytest.approx(state.progress(done + work))
    assert state.gain == pytest.approx(control.gain_of(work, 2, parameters)[0])
    assert control.request(state, now_s, done, most=16, parameters=parameters)[1] == pytest.approx(applied)
