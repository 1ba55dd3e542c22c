"""The waste of preemption, in words and as rows: the same in explanations, tables of runs, the page and its metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from typing import Any

from fawkes.base.units import SECOND_US, counted, show_duration
from fawkes.core.preemption.account import Account, Accounts
from fawkes.core.values.lifecycle import ENDED_JOBS
from fawkes.core.values.model import ClusterId
from fawkes.report import history
from fawkes.store.base import JOB, Reader

WASTE = ("killed_work_s", "dumping_s", "restoring_s", "waiting_s", "useful_s", "unknown_s", "wasted_part")
"""The keys of seconds of slots, and the wasted part of all that was used."""
TASKS = ("tasks_saved", "tasks_killed", "tasks_unknown", "tasks_unseen")
"""The keys of how many tasks had to go, by how."""


def waste_row(account: Account) -> dict[str, Any]:
    """The figures of an account by `WASTE` and `TASKS`; None is not known."""
    waste, useful_s = account.waste, account.useful_s
    return {
        "killed_work_s": waste.killed_s,
        "dumping_s": waste.dumping_s,
        "restoring_s": waste.restoring_s,
        "waiting_s": account.waiting_s,
        "useful_s": useful_s,
        "unknown_s": account.unknown_s,
        "wasted_part": waste.wasted_s / account.used_s if useful_s is not None and account.used_s else None,
        "tasks_saved": account.saved,
        "tasks_killed": account.killed,
        "tasks_unknown": account.unknown,
        "tasks_unseen": account.unseen,
    }


def accounts_of(store: Reader) -> Accounts:
    """The accounts of a whole ledger, which is read from its beginning; empty where no job has tasks to save."""
    accounts = Accounts()
    if any(job.spec.saves for job in history.jobs(store)):
        for entry in store.entries():
            accounts.follow(entry.event, entry.decision.reasons)
    return accounts


def account_of_job(store: Reader, name: str) -> Account:
    """The account of a job, by the steps between the first and the last one that name it."""
    return _accounts_of_jobs(store, [name]).of_job(name)


def account_of_cluster(store: Reader, name: ClusterId) -> Account:
    """The account of an MR-cluster, by the steps from the first one that names its jobs of tasks to the end of all."""
    jobs = [job for job in history.jobs(store) if job.cluster == name and job.spec.saves]
    ended = all(job.life in ENDED_JOBS for job in jobs)
    return _accounts_of_jobs(store, [job.id for job in jobs], ended=ended).clusters().get(name, Account())


def _accounts_of_jobs(store: Reader, jobs: Iterable[str], *, ended: bool = True) -> Accounts:
    accounts = Accounts()
    numbers = [each for job in jobs if (steps := store.mentions(JOB, job)) for each in (steps[0], steps[-1])]
    last = max(numbers, default=0) if ended else inf
    for entry in store.entries(after=min(numbers) - 1) if numbers else ():
        if entry.seq > last:
            break
        accounts.follow(entry.event, entry.decision.reasons)
    return accounts


def waste_in_words(account: Account) -> str:
    """An account as a sentence; empty if no task had to go."""
    if not account.preempted:
        return ""
    row = waste_row(account)
    names = {"killed_work_s": "killed work", "dumping_s": "dumping", "restoring_s": "restoring"}
    parts = [f"{_s(row[key])} of {name}" for key, name in names.items()]
    useful = "not known" if account.useful_s is None else _s(account.useful_s)
    unheard = _not_known_in_words(account)
    part = "" if row["wasted_part"] is None else f" ({row['wasted_part']:.1%}{' at least' if unheard else ''})"
    text = f"Slot time of tasks: {useful} useful; {_s(account.waste.wasted_s)} wasted{part}, {_listed(parts)}"
    text += f"; {_s(account.waiting_s)} waited without a slot between a save and the next start"
    return text + unheard


def _not_known_in_words(account: Account) -> str:
    tasks, seconds = counted(account.unknown, "task"), _s(account.unknown_s)
    parts = [f"how {tasks} went, that had run for {seconds}"] if account.unknown else []
    parts += [f"when {counted(account.unseen, 'saved task')} ran again"] if account.unseen else []
    return f". Not known: {'; '.join(parts)}" if parts else ""


def _listed(parts: list[str]) -> str:
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _s(seconds: float) -> str:
    return show_duration(round(seconds * SECOND_US))


def cluster_rows(accounts: Accounts) -> list[Mapping[str, Any]]:
    """A row for each MR-cluster in which a task had to go."""
    known = sorted(accounts.clusters().items())
    return [{"cluster": cluster, **waste_row(account)} for cluster, account in known if account.preempted]
