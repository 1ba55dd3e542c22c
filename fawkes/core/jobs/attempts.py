"""The outcome of an attempt to run a job: facts about its launcher and its applications in, a verdict out.

An attempt is over only when its launcher says so, or a ResourceManager that has finished its recovery. Applications
that are not known (None) are never taken for none: a second attempt would run beside the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fawkes.core.values.events import Progress
from fawkes.core.values.sight import AppLife, AppSeen, Attempt, ClientCause, Launcher

#: a shell adds this to the number of the signal that ended a command
_SIGNALS = 128
_LAUNCHER_GONE = "its launcher is gone"
#: why a command with an end of its own fails where its masters went away
NOT_AGAIN = "its masters were lost, and a command of its own is not begun a second time by itself"
#: what another attempt would meet just the same; input that is missing may be another job's output, and come yet
_LASTING = frozenset({ClientCause.OUTPUT_EXISTS, ClientCause.NO_CLASS})


@dataclass(frozen=True, slots=True)
class AttemptVerdict:
    """The course or the end of an attempt; ``error`` says why it failed. Times are YARN's own, if known."""

    progress: Progress
    error: str = ""
    application: str = ""
    started_us: int | None = None
    finished_us: int | None = None
    log: str = ""


def may_begin(seen: Attempt) -> bool:
    """True if the command of an attempt may be begun: nothing of it was, and YARN is known to run nothing of it."""
    return seen.launcher in (Launcher.ABSENT, Launcher.UNBORN) and seen.applications == ()


def live(seen: Attempt) -> bool:
    """True if an application of the attempt is known to run."""
    return any(app.life is AppLife.LIVE for app in seen.applications or ())


def judge(seen: Attempt, *, began: bool, cancelling: bool, lasted: bool, silent: bool = False) -> AttemptVerdict | None:
    """The verdict on an attempt by its facts; None while they do not say anything.

    ``began``: it was seen to run before. ``cancelling``: somebody asked for its end. ``lasted``: it has been so for
    ``quiet_us``. Then a client without an application counts as running, and one that left nothing behind as gone:
    before, it may be just about to begin. ``silent``: its masters, or the KDC, do not answer, which ends a client that
    needs both.
    """
    if seen.refused:
        return AttemptVerdict(Progress.REFUSED, seen.refused)
    match seen.launcher:
        case Launcher.NOT_KNOWN:
            return None
        case Launcher.RUNNING:
            return AttemptVerdict(Progress.RUNNING) if seen.applications or seen.own or lasted else None
        case Launcher.FINISHED if seen.exit == 0 and not _contradicted(seen):
            return AttemptVerdict(Progress.SUCCEEDED)
    if seen.applications is None:
        return None
    if live(seen):
        return AttemptVerdict(Progress.RUNNING)
    if seen.launcher is Launcher.LOST and not seen.applications and not lasted:
        return None
    if cancelling or seen.cancelled:
        return AttemptVerdict(Progress.CANCELLED)
    displaced = seen.displaced or (silent and not seen.own and seen.cause not in _LASTING)
    began = began or seen.launcher is Launcher.LOST
    return _ended(replace(seen, displaced=displaced), seen.applications, began=began)


@dataclass(frozen=True, slots=True)
class CopyCourse:
    """An attempt to copy what an MR-cluster loads or saves, from look to look.

    ``began``: something of it was seen, or was begun. ``seen`` is how it stands, ``since_us`` since when, ``at_us`` is
    the time of the last look.
    """

    began: bool = False
    seen: Attempt | None = None
    since_us: int = 0
    at_us: int = 0

    def after(self, seen: Attempt, at_us: int) -> CopyCourse:
        """The course after one more look, at ``at_us``."""
        began = self.began or seen.launcher not in (Launcher.ABSENT, Launcher.UNBORN, Launcher.NOT_KNOWN)
        return CopyCourse(began, seen, self.since_us if seen == self.seen else at_us, at_us)

    def verdict(self, quiet_us: int) -> AttemptVerdict | None:
        """The verdict of `judge`, with patience for what left nothing behind; None while nothing is known.

        The ApplicationMaster does the last step of a copy: when all applications have succeeded, everything was copied,
        however the client ended.
        """
        seen = self.seen
        if seen is None:
            return None
        lasted = self.at_us - self.since_us >= quiet_us
        verdict = judge(seen, began=self.began, cancelling=False, lasted=lasted)
        ended = verdict is not None and verdict.progress is Progress.FAILED
        if ended and seen.applications and _all_succeeded(seen.applications):
            return AttemptVerdict(Progress.SUCCEEDED)
        return verdict


def _contradicted(seen: Attempt) -> bool:
    """True if YARN knows otherwise than a client that ended well: it may not have waited for what it began."""
    failed = seen.single and bool(seen.applications) and not _all_succeeded(seen.applications or ())
    return failed or live(seen)


def _ended(seen: Attempt, applications: Sequence[AppSeen], *, began: bool) -> AttemptVerdict | None:
    """Nothing of it runs any more, as far as YARN knows, and nobody cancelled it."""
    there = seen.launcher in (Launcher.FINISHED, Launcher.LOST)
    if there and seen.displaced and not applications:
        if seen.own and seen.began_us is not None:
            return AttemptVerdict(Progress.FAILED, NOT_AGAIN)
        return AttemptVerdict(Progress.DISPLACED, seen.words if seen.cause is ClientCause.NO_LOGIN else "")
    if seen.launcher is Launcher.FINISHED:
        return _finished(seen, applications)
    return _without_client(seen, applications, began=began)


def _finished(seen: Attempt, applications: Sequence[AppSeen]) -> AttemptVerdict:
    """A client ended badly: that says nothing about its job when it was killed, or had lost sight of it."""
    blind = (seen.exit or 0) > _SIGNALS and not seen.own
    blind = blind or (seen.single and seen.lost_sight)
    if blind and applications and _all_succeeded(applications):
        return AttemptVerdict(Progress.SUCCEEDED)
    if not applications and seen.cause in _LASTING:
        return AttemptVerdict(Progress.REFUSED, seen.words)
    if seen.exit == 0:
        return AttemptVerdict(
            Progress.FAILED, applications[-1].said or "its application failed after its client had ended"
        )
    return AttemptVerdict(Progress.FAILED, seen.words or f"exit code {'unknown' if seen.exit is None else seen.exit}")


def _without_client(seen: Attempt, applications: Sequence[AppSeen], *, began: bool) -> AttemptVerdict | None:
    """A client left no result; one that was never begun is begun when its deadline has passed."""
    if not applications:
        return (
            AttemptVerdict(Progress.FAILED, f"{_LAUNCHER_GONE}, and YARN has no application of it") if began else None
        )
    if _all_succeeded(applications):
        if not seen.own:
            return AttemptVerdict(Progress.SUCCEEDED)
        return AttemptVerdict(
            Progress.FAILED, f"{_LAUNCHER_GONE}; the {len(applications)} applications that it ran have ended"
        )
    return AttemptVerdict(Progress.FAILED, seen.words or applications[-1].said or _LAUNCHER_GONE)


def _all_succeeded(applications: Sequence[AppSeen]) -> bool:
    return all(app.life is AppLife.SUCCEEDED for app in applications)
