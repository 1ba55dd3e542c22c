"""Admission policies of users answer in workers as those that came with Fawkes do in the process."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.base.catalog import Catalog, CatalogFile, Kind
from fawkes.base.errors import ConfigError
from fawkes.core.state.admitting import Admission, Done, Job, Queue, checked
from fawkes.policy.worker.policies import load_admission, policy_text

pytestmark = pytest.mark.slow

FOUND = Catalog().all(Kind.ADMISSION)
jobs = st.builds(
    Job,
    id=st.uuids().map(str),
    tasks=st.integers(1, 50),
    deadline_s=st.none() | st.floats(1, 1000),
    waited_s=st.floats(0, 100),
    granted=st.integers(0, 3),
    work_s=st.floats(1, 1000),
)
dones = st.builds(
    Done,
    tasks=st.integers(1, 50),
    deadline_s=st.floats(1, 1000),
    work_s=st.none() | st.floats(1, 1000),
    granted=st.integers(1, 10),
    total=st.integers(10, 50),
    met=st.booleans(),
    killed=st.booleans(),
)
QUEUE = Queue((Job("a", 4, 60.0, 0.0), Job("b", 4, None, 0.0)), total=8, free=8)
TEXT = """
NAME = "X"
from fawkes.policy import Verdict
def admit(queue, memory, most=4):
    return [Verdict(job.id, cpus=most, asked=most, why={"most": most}) for job in queue.jobs]
def learn(done, memory): return {"seen": [done.tasks, *(memory or {}).get("seen", [])][:3]}
def late(job, memory): return job.id == "a"
"""


def apart(policy: CatalogFile) -> Admission:
    """A policy that came with Fawkes, made somebody else's by a comment."""
    return load_admission(policy_text(policy.title, "x.py", policy.text() + "# mine\n"), {})


@pytest.mark.parametrize("file", FOUND, ids=lambda file: file.title)
@settings(max_examples=15, deadline=None)
@given(queue=st.lists(jobs, max_size=6), ended=st.lists(dones, max_size=4))
def test_the_answers_are_those_of_the_same_process(file: CatalogFile, queue: list[Job], ended: list[Done]) -> None:
    ours = load_admission(policy_text(file.title, "x.py", file.text()), {})
    theirs = apart(file)
    assert ours.needs_work == theirs.needs_work
    moment = Queue(tuple(queue), total=20, free=5)
    memory = None
    for done in ended:
        assert theirs.learn(done, memory) == ours.learn(done, memory)
        memory = ours.learn(done, memory)
    assert list(theirs.admit(moment, memory)) == list(ours.admit(moment, memory))
    assert [theirs.late(job, memory) for job in queue] == [ours.late(job, memory) for job in queue]


def test_parameters_memory_and_verdicts_travel() -> None:
    admission = load_admission(policy_text("X", "x.py", TEXT), {"most": 3})
    assert [verdict.cpus for verdict in checked(QUEUE, admission.admit(QUEUE, None))] == [3, 3]
    done = Done(tasks=4, deadline_s=60.0, work_s=None, granted=2, total=8, met=True)
    assert admission.learn(done, {"seen": [1]}) == {"seen": [4, 1]}
    assert admission.late(QUEUE.jobs[0], None)
    assert not admission.late(QUEUE.jobs[1], None)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("7", "7 is no list"),
        ("[7]", "7 is no Verdict"),
        ("[admit]", "^<function admit> is no Verdict"),
        ("[Verdict('a', cpus=1.5)]", "no number of CPUs"),
        ("[Verdict('a', cpus=1, why={'f': float('nan')})]", "no finite number"),
        ("[Verdict('nobody')]", "not in the queue"),
    ],
)
def test_a_wrong_verdict_is_as_wrong_from_a_worker(answer: str, says: str) -> None:
    text = TEXT.replace('[Verdict(job.id, cpus=most, asked=most, why={"most": most}) for job in queue.jobs]', answer)
    with pytest.raises(ValueError, match=says):
        checked(QUEUE, load_admission(policy_text("X", "x.py", text), {}).admit(QUEUE, None))


def test_an_admission_policy_that_leaves_the_language_has_no_rights() -> None:
    text = TEXT.replace(
        "def late(job, memory): return",
        """def outside(frame):
    while "open" not in frame.f_builtins:
        frame = frame.f_back
    return frame.f_builtins
def late(job, memory):
    g = (outside(g.gi_frame) for _ in (0,))
    next(g)["open"]("/etc/passwd")
    return""",
    )
    with pytest.raises(ConfigError, match=r"PermissionError: .* Operation not permitted"):
        load_admission(policy_text("X", "x.py", text), {})


def test_a_file_that_is_refused_is_refused_again() -> None:
    """The worker of the first time is none in which it was loaded."""
    for _ in range(2):
        with pytest.raises(ConfigError, match="policy X has no parameter 'y'"):
            load_admission(policy_text("X", "x.py", TEXT), {"y": 1})
