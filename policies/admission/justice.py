"""JUSTICE: a fair fraction for all, between what the last job had and what jobs need (Dimopoulos 5.1, algorithms 3-6).

``correction`` is "mean" or "ema" (with ``alpha``) of the errors so far, or "none". ``rounding`` says what the error of
a job is measured against: "literal", as printed, the CPUs that it was granted (for a job of one task always all of
them), or "unrounded", the fraction before it was rounded to whole CPUs. ``learn_killed`` says what a job teaches that
was ended after its deadline: "flag", that it failed; "work", also its rate, where its work is known; or "none".
``fraction`` is "last" as in algorithm 4, or "average" as in the text of section 5.4.1. A ``window`` of n keeps the last
n jobs, 0 the whole history. The printed algorithms: rounding = "literal", learn_killed = "none".
"""

from fawkes.policy import Ask, Done, Job, Memory, Queue, Verdict, by_request, max_cpus, queue_factor, whole_cpus

NAME = "JUSTICE"
#: of what is remembered of single jobs
_MOST_JOBS = 10_000
_CORRECTIONS = ("mean", "ema", "none")


def admit(
    queue: Queue,
    memory: Memory,
    bootstrap: int = 2,
    correction: str = "mean",
    fraction: str = "last",
    priority: str = "req/ttd",
) -> list[Verdict]:
    """Let in jobs: until ``bootstrap`` jobs have ended every one is let in and asks for all that could work for it."""
    if correction not in _CORRECTIONS:
        raise ValueError(f"correction is {correction!r}, not one of {', '.join(_CORRECTIONS)}")
    if fraction not in ("last", "average"):
        raise ValueError(f"fraction is {fraction!r}, not last or average")
    known = memory or {"completed": 0}
    share, error = (1.0, 0.0) if known["completed"] < bootstrap else _share(known, correction, fraction)

    def request(job: Job) -> Ask:
        most = max_cpus(job.tasks, queue.total)
        if known["completed"] < bootstrap:
            return Ask(most, partial=True, why={"bootstrap": known["completed"], "share": 1.0})
        factor = queue_factor(job)
        why = {"fraction": share, "correction": error, "queue_factor": factor, "share": share * factor}
        return Ask(whole_cpus(share * factor * most), why=why)

    return by_request(queue, request, priority)


def _share(known: Memory, correction: str, fraction: str) -> tuple[float, float]:
    """Algorithms 4 and 5: the fraction, corrected and held between the least that any job needed and 1."""
    least = known["min"]
    if fraction == "average":
        middle = known["rates"] / known["counted"]
    else:
        middle = (known["last"] + (least if known["met"] else known["max"])) / 2
    means = {"mean": known["errors"] / known["counted"], "ema": known["ema"], "none": 0.0}
    return min(1.0, max(least, middle + means[correction])), means[correction]


def learn(
    done: Done,
    memory: Memory,
    rounding: str = "unrounded",
    learn_killed: str = "flag",
    alpha: float = 0.1,
    window: int = 0,
) -> Memory:
    """Algorithm 3: what the job would have needed, what it had, and whether that was enough."""
    if rounding not in ("literal", "unrounded"):
        raise ValueError(f"rounding is {rounding!r}, not literal or unrounded")
    if learn_killed not in ("flag", "work", "none"):
        raise ValueError(f"learn_killed is {learn_killed!r}, not flag, work or none")
    if done.deadline_s is None or (done.killed and learn_killed == "none"):
        return memory
    most = max_cpus(done.tasks, done.total)
    last = done.granted / most
    if done.work_s is None or (done.killed and learn_killed == "flag"):
        return {**memory, "last": last, "met": False} if memory and done.killed else memory
    rate = done.work_s / done.deadline_s / most
    if rate > 1 + 1e-9:
        return memory
    error = rate - (last if rounding == "literal" else min(1.0, done.why.get("share", last)))
    return _remembered(memory, rate, error, last, done.met, alpha, min(window, _MOST_JOBS))


def _remembered(memory: Memory, rate: float, error: float, last: float, met: bool, alpha: float, window: int) -> Memory:
    known = memory or {"completed": 0, "counted": 0, "rates": 0.0, "errors": 0.0, "ema": error, "recent": []}
    recent = [*known["recent"], [rate, error]][-window:] if window else []
    rates = [each[0] for each in recent] or [known.get("min", rate), known.get("max", rate), rate]
    return {
        "completed": known["completed"] + 1,
        "counted": len(recent) or known["counted"] + 1,
        "rates": sum(each[0] for each in recent) if window else known["rates"] + rate,
        "errors": sum(each[1] for each in recent) if window else known["errors"] + error,
        "ema": alpha * error + (1 - alpha) * known["ema"],
        "recent": recent,
        "min": min(rates),
        "max": max(rates),
        "last": last,
        "met": met,
    }


def late(job: Job, memory: Memory, kill_threshold: int = 10) -> bool:
    """One that waits is ended; of those that run the ones with more tasks than the threshold (section 5.1.2)."""
    return not job.granted or 0 <= kill_threshold < job.tasks
