"""The PI controller of an executor: progress of a stage against its set point (eq. 13 to 19).

Progress is in percent of the tasks of this executor, as in the paper. Nothing here knows how cores are set.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from fawkes.base.values import replace
from fawkes.core.quota.values import Parameters, round_up


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """The state of a controller between two periods.

    ``work`` are the tasks from ``start_s`` on, when ``before`` of them were done; they should be done at ``end_s``.
    ``gain`` and ``zero`` are K and a of eq. 17, ``state`` is x_C, ``error`` the last difference in percent, and
    ``applied`` the cores that the executor has had since.
    """

    work: float
    before: float
    start_s: float
    end_s: float
    gain: float
    zero: float
    state: float
    error: float
    applied: float

    def set_point(self, now_s: float) -> float:
        """The percentage that should be done: a ramp up to 100 (section 5.2)."""
        if now_s >= self.end_s:
            return 100.0
        return 100.0 * max(0.0, now_s - self.start_s) / (self.end_s - self.start_s)

    def progress(self, done: float) -> float:
        """The percentage that is done."""
        return 100.0 * (done - self.before) / self.work

    def left(self, done: float | None) -> float:
        """The tasks that are not done; all of them while ``done`` is not known."""
        return self.work if done is None else max(0.0, self.work - (done - self.before))


def gain_of(work: float, rate: float, parameters: Parameters) -> tuple[float, float]:
    """K and a of eq. 17 for so many tasks, of which a core does ``rate`` in a second; both are above 0."""
    eta, pole = parameters.eta, parameters.pole
    return work * (1 - pole) / (100 * parameters.period_s * rate * sqrt(eta)), (eta + pole - 1) / eta


def begin(
    work: float,
    rate: float,
    *,
    now_s: float,
    deadline_s: float,
    initial: float,
    parameters: Parameters,
    before: float = 0.0,
) -> Control:
    """The controller of ``work`` tasks that are to be done by ``deadline_s`` (a time, as ``now_s``).

    Its first request is ``initial`` (resolution 9). ``before`` other tasks of the stage were done already.
    """
    gain, zero = gain_of(work, rate, parameters)
    return Control(
        work=work,
        before=before,
        start_s=now_s,
        end_s=now_s + parameters.phi * (deadline_s - now_s),
        gain=gain,
        zero=zero,
        state=initial / gain,
        error=0.0,
        applied=initial,
    )


def request(
    control: Control, now_s: float, done: float | None, *, most: float, parameters: Parameters
) -> tuple[Control, float]:
    """The controller after a period, and the cores that it requests (eq. 18), whole quanta of at most ``most``.

    ``done`` are the tasks that the executor has done; when they are not known it keeps what it has. After the end of
    the set point it requests all that it can use until the work is done (resolution 12).
    """
    if done is None:
        return control, min(most, control.applied)
    error = control.set_point(now_s) - control.progress(done)
    state = control.state + (1 - control.zero) * control.error
    wanted = most if now_s >= control.end_s else control.gain * (state + error)
    cores = min(most, max(parameters.least, round_up(wanted, parameters.quantum)))
    return replace(control, state=state, error=error), cores


def apply(control: Control, cores: float) -> Control:
    """The controller once it knows what it was given: its state is calculated back, against windup (eq. 19)."""
    return replace(control, state=cores / control.gain - control.error, applied=cores)


def rebase(
    control: Control, now_s: float, done: float, work: float, rate: float, deadline_s: float, parameters: Parameters
) -> Control:
    """The controller of an executor whose part of the stage has changed: ``work`` tasks are left to it from now on.

    The set point starts again from 0 % now, and the quota does not jump (X7).
    """
    gain, zero = gain_of(work, rate, parameters)
    return replace(
        control,
        work=work,
        before=done,
        start_s=now_s,
        end_s=now_s + parameters.phi * (deadline_s - now_s),
        gain=gain,
        zero=zero,
        state=control.applied / gain,
        error=0.0,
    )
