"""Made-up stories of one queue under every admission policy: late, doubled and missing answers, capacity that comes
and goes. Grants fit, do not change and are learned from once; the ledger gives the same decisions again.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as tries
from hypothesis import strategies as st

from fawkes.base.units import SECOND_US
from fawkes.core.clusters.picture import picture, restored
from fawkes.core.values.decision import Change, PutJob, PutLearned
from fawkes.core.values.effects import CountWork, Effect, StartJob
from fawkes.core.values.events import Done, Failed, Progress
from fawkes.core.values.model import ClusterId, JobId, JobLife, JobState
from tests.support.desk import Desk
from tests.support.pools import admission, settings

POLICIES = ("baseline", "justice", "pythia", "reactive")
_A = ClusterId("a")
_STEPS = 60


class Story:
    """One MR-cluster, its jobs, and the questions about their work that were asked so far."""

    def __init__(self, policy: str, *, pool: bool) -> None:
        how = settings(period_us=10**12, admission=policy, learn_from_pool=pool)
        self.desk = Desk(4, how=how, admission=admission(policy))
        self.desk.up("a", max_running_jobs=5)
        self.slots: int | None = None
        self.master = 0
        self.count = 0
        self.asked: list[CountWork] = []
        self.dropped: set[JobId] = set()
        self.before: dict[JobId, JobState] = {}
        self.looked = len(list(self.desk.store.entries()))

    def act(self, draw: st.DrawFn) -> None:
        """Something happens, and everything still holds."""
        kinds = (self.submit, self.submit, self.read, self.see, self.see, self.work, self.cancel, self.wait)
        draw(st.sampled_from(kinds))(draw)
        self.look()

    def look(self) -> None:
        """All that was decided since the last look holds."""
        for entry in list(self.desk.store.entries())[self.looked :]:
            self._hold(entry.decision.changes, entry.decision.effects)
        self.looked = len(list(self.desk.store.entries()))
        self.before = dict(self.desk.state.jobs)

    def submit(self, draw: st.DrawFn) -> None:
        """Somebody hands in a job."""
        self.count += 1
        deadline_us = draw(st.none() | st.integers(1, 90).map(lambda s: s * SECOND_US))
        retries, tasks = draw(st.integers(0, 1)), draw(st.integers(1, 12))
        self.desk.submit("a", self.count, tasks=tasks, deadline_us=deadline_us, retries=retries)

    def read(self, draw: st.DrawFn) -> None:
        """A reading, perhaps of other nodes than before, or of an unknown number."""
        self.desk.wait(1)
        # A deadline may be over by now: what follows from it goes by the reading before.
        self.look()
        self.slots = draw(st.sampled_from((16, 16, 16, 4, 0, None)))
        self.master = draw(st.sampled_from((0, 1)))
        self.desk.sample(a={"slots_total": self.slots, "master_slots": self.master, "jobs_running": 1})

    def see(self, draw: st.DrawFn) -> None:
        """Something is seen of an attempt, perhaps an earlier one."""
        jobs = list(self.desk.state.jobs.values())
        if jobs:
            job = draw(st.sampled_from(jobs))
            attempt = max(1, job.attempt - draw(st.sampled_from((0, 0, 0, 1))))
            self.desk.job(job.id, draw(st.sampled_from(tuple(Progress))), attempt, finished_us=self.desk.now_us)

    def work(self, draw: st.DrawFn) -> None:
        """An answer about the work of a job comes, or comes again, or is that nobody knows."""
        if not self.asked:
            return
        effect = draw(st.sampled_from(self.asked))
        at_us = self.desk.now_us
        if draw(st.booleans()):
            facts = {"work_us": draw(st.integers(1, 500)) * SECOND_US}
            self.desk.tell(Done(at_us=at_us, effect=effect.key, version=effect.attempt, facts=facts))
        else:
            self.desk.tell(Failed(at_us=at_us, effect=effect.key, version=effect.attempt, error="no"))

    def cancel(self, draw: st.DrawFn) -> None:
        """Somebody takes a job back."""
        jobs = list(self.desk.state.jobs)
        if jobs:
            self.desk.cancel(draw(st.sampled_from(jobs)))

    def wait(self, draw: st.DrawFn) -> None:
        """Time passes, and deadlines with it."""
        self.desk.wait(draw(st.integers(1, 40)))

    def _hold(self, changes: Sequence[Change], effects: Sequence[Effect]) -> None:
        for change in changes:
            if isinstance(change, PutJob):
                self._job(change.state)
        begun = [effect for effect in effects if isinstance(effect, StartJob)]
        self.asked += [effect for effect in effects if isinstance(effect, CountWork)]
        assert all(effect.granted > 0 and effect.job not in self.dropped for effect in begun)
        busy = [job for job in self.desk.state.jobs.values() if job.life is not JobLife.QUEUED]
        assert len(busy) <= 5
        if any(effect.job not in self.before or not self.before[effect.job].granted for effect in begun):
            assert self.slots is not None
            assert sum(job.granted + self.master for job in busy) <= self.slots

    def _job(self, new: JobState) -> None:
        old = self.before.get(new.id)
        if old is not None and old.granted and old.attempt == new.attempt:
            assert (new.granted, new.granted_of) == (old.granted, old.granted_of)
        if new.life is JobLife.DROPPED:
            self.dropped.add(new.id)
            assert not new.granted
        if new.id not in self.desk.state.jobs:
            assert f"deadline:{new.id}" not in self.desk.state.pending


@st.composite
def stories(draw: st.DrawFn, policy: str) -> Story:
    story = Story(policy, pool=draw(st.booleans()))
    for _ in range(draw(st.integers(5, _STEPS))):
        story.act(draw)
    return story


@pytest.mark.parametrize("policy", POLICIES)
@tries(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_whatever_happens_grants_fit_and_are_learned_from_once(policy: str, data: st.DataObject) -> None:
    story = data.draw(stories(policy))
    ids = {(effect.job, effect.attempt) for effect in story.asked}
    learned = [r for e in story.desk.store.entries() for r in e.decision.changes if isinstance(r, PutLearned)]
    kills = [
        change.state.id
        for entry in story.desk.store.entries()
        for change in entry.decision.changes
        if isinstance(change, PutJob) and change.state.life is JobLife.KILLED
    ]
    assert len(kills) == len(set(kills))
    assert len(learned) <= len(ids) + len(kills)
    assert story.desk.decided_otherwise() == []
    again = restored(picture(story.desk.state))
    assert (again.jobs, again.pending, again.learned) == (
        story.desk.state.jobs,
        story.desk.state.pending,
        story.desk.state.learned,
    )
