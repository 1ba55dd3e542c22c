"""Sentences about jobs that an admission policy lets in, or does not."""

from __future__ import annotations

from fawkes.core.values.model import Reason

ADMITTED = (
    (
        Reason(
            "job-admitted",
            {
                "job": "j",
                "cluster": "c",
                "cpus": 7,
                "asked": 7,
                "free": 9,
                "total": 20,
                "fraction": 0.5,
                "queue_factor": 1.3333,
            },
        ),
        "Job j is let in with 7 CPUs: it asks for 7 of 20 (fraction 0.5, queue factor 1.33)",
    ),
    (
        Reason(
            "job-admitted",
            {"job": "j", "cluster": "c", "cpus": 4, "asked": 9, "free": 4, "total": 20, "bootstrap": 1, "share": 1.0},
        ),
        "Job j is let in with 4 CPUs: it asks for 9 of 20, because too few jobs have ended to learn from (1)",
    ),
    (
        Reason("job-waits", {"job": "j", "cluster": "c", "asked": 7, "free": 2, "total": 20, "fraction": 0.5}),
        "Job j waits: it asks for 7 CPUs of 20 (fraction 0.5), and 2 are free",
    ),
    (
        Reason("job-waits", {"job": "j", "cluster": "c", "asked": 7, "free": -3, "total": 20}),
        "Job j waits: it asks for 7 CPUs of 20, and jobs hold 3 more than c has now",
    ),
    (
        Reason("job-admitted", {"job": "j", "cluster": "c", "cpus": 1, "asked": 1, "free": 9, "total": 20}),
        "Job j is let in with 1 CPU: it asks for 1 of 20",
    ),
    (
        Reason("job-waits", {"job": "j", "cluster": "c", "asked": 7, "free": 0, "total": 20, "max_running_jobs": 4}),
        "Job j waits: it asks for 7 CPUs of 20, and c runs 4 jobs, as many as max_running_jobs allows",
    ),
    (Reason("job-waits", {"job": "j", "cluster": "c"}), "Job j waits until c has told its capacity"),
    (
        Reason(
            "job-dropped",
            {
                "job": "j",
                "cluster": "c",
                "stop": "hopeless",
                "asked": 31,
                "free": 2,
                "total": 20,
                "most": 20,
                "fraction": 0.5,
                "queue_factor": 3.1,
            },
        ),
        "Job j is dropped: its deadline cannot be met. It would need 31 CPUs (fraction 0.5, queue factor 3.1) and 20 "
        "could work for it",
    ),
    (
        Reason("job-dropped", {"job": "j", "cluster": "c", "stop": "over-deadline"}),
        "Job j is dropped: its deadline has passed",
    ),
    (
        Reason("deadline", {"job": "j", "cluster": "c", "deadline_us": 90_000_000}),
        "The deadline of job j, 1m30s after its submission, has passed, and it is stopped",
    ),
    (
        Reason("job-killed", {"job": "j", "cluster": "c", "error": "its deadline has passed", "log": ""}),
        "Job j is killed: its deadline has passed",
    ),
    (
        Reason("work-not-known", {"job": "j", "cluster": "c", "error": "no answer"}),
        "Nothing is learned from job j: the time of its tasks is not known (no answer)",
    ),
    (
        Reason("admission-failed", {"cluster": "c", "policy": "MINE", "failed": "ValueError: x, line 3"}),
        "The admission policy MINE gave no usable answer for c (ValueError: x, line 3): no job is let in",
    ),
    (
        Reason("no-promise", {"job": "j", "error": "a script may run several jobs side by side"}),
        "Job j is not taken: no number of CPUs can be kept for it (a script may run several jobs side by side). Set "
        "admit_unkept = true in fawkes.toml to let such jobs in without a promise",
    ),
    (
        Reason("job-cancelled", {"job": "j", "cluster": "c", "stop": "not-deployed", "error": "no disk", "log": ""}),
        "Job j is cancelled: c could not be deployed: no disk",
    ),
    (Reason("over-limit"), "its time limit has passed"),
    (Reason("over-deadline"), "its deadline has passed"),
    (Reason("hopeless"), "its deadline cannot be met"),
    (Reason("cluster-released"), "its MR-cluster is being released"),
    (Reason("cluster-ended"), "its MR-cluster has ended"),
    (Reason("not-deployed", {"cluster": "c", "error": "no disk"}), "c could not be deployed: no disk"),
    (
        Reason("job-not-declared"),
        "its declaration was not found when the pool was adopted; only YARN knows if it still runs",
    ),
    (Reason("job-had-ended", {"exit": 3}), "it had ended with exit code 3 before the pool was adopted"),
)
