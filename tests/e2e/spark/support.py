"""Helpers of the tests of Spark: jobs, the results that must come out, and words of the history server."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support.site import RealSite

WORDS = Path(__file__).parent / "words.py"


def spark_job(site: RealSite, name: str, *words: str, keys: str = "") -> Path:
    """The file of a job of that name."""
    return site.write(f"jobs/{name}.toml", f'id = "{name}"\nkind = "spark"\nargs = {list(words)}\n{keys}')


def expected(rounds: int, tasks: int) -> Counter[str]:
    """The counts of ``words.py``."""
    return Counter(f"word{(task * 7 + n) % 13}" for task in range(tasks) for n in range(1000) for _ in range(rounds))


def counted(folder: Path) -> dict[str, int]:
    """The counts in an output folder that was saved."""
    lines = [line for part in folder.glob("part-*") for line in part.read_text().split("\n") if line]
    return {word: int(count) for word, count in (line.split("\t") for line in lines)}


def history(site: RealSite, cluster: str, job: str, what: str) -> list[dict[str, Any]]:
    """The history server's rows of a job that has ended, once that knows the end: ``stages``, ``allexecutors`` ..."""
    (application,) = site.applications(cluster, job)
    url = f"http://{site.master(cluster)}:18080/api/v1/applications"

    def known() -> bool:
        # One that has just been started refuses connections.
        with suppress(AssertionError):
            listed = site.inside(cluster, "get", f"{url}?status=completed")
            return application["id"] in {row["id"] for row in listed}
        return False

    site.until("the history of an application", known)
    rows: list[dict[str, Any]] = site.inside(cluster, "get", f"{url}/{application['id']}/1/{what}")
    return rows


def stages(site: RealSite, cluster: str, job: str) -> list[dict[str, Any]]:
    """The attempts of stages that ran."""
    return [row for row in history(site, cluster, job, "stages") if row["status"] != "SKIPPED"]


def tasks_run(rows: list[dict[str, Any]]) -> tuple[int, int]:
    """The tasks that stages have, and how many ran to their end: more where some ran again."""
    has = {row["stageId"]: row["numTasks"] for row in sorted(rows, key=lambda row: -row["attemptId"])}
    return sum(has.values()), sum(row["numCompleteTasks"] for row in rows)
