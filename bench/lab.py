"""The part that measurements and shows on a lab share: a site of their own, commands in the lab, and waiting."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from bench.figures import Say
from fawkes.base.errors import DeadlineError, FawkesError
from fawkes.config.site.site import Site
from fawkes.live.lab import Lab, LabSpec, up
from fawkes.playbook.dist.cache import cached
from fawkes.playbook.dist.pins import DEFAULT_VERSION, pin

T = TypeVar("T")

PROJECT = Path(__file__).parents[1]


@contextmanager
def lab_site(hosts: int, settings: str, clusters: Mapping[str, str], say: Say) -> Iterator[tuple[Lab, Site]]:
    """A lab, and its site with settings and files of MR-clusters, in a folder of their own; Hadoop is there before."""
    cached(pin(DEFAULT_VERSION))
    with (
        TemporaryDirectory(prefix="fawkes-bench-") as folder,
        up(LabSpec(hosts=hosts, site=Path(folder) / "lab"), tell=say) as lab,
    ):
        site = Site(lab.site)
        site.settings_file.write_text(settings)
        write_clusters(site, clusters)
        yield lab, site


def write_clusters(site: Site, clusters: Mapping[str, str]) -> None:
    """Write the files of MR-clusters into a site that has none yet."""
    site.clusters_dir.mkdir(parents=True)
    for name, text in clusters.items():
        (site.clusters_dir / f"{name}.toml").write_text(text)


def run_inside(lab: Lab, *command: str, limit_s: float) -> str:
    """The output of a command in a lab, with the project as its folder; FawkesError with its last words if it fails."""
    done = lab.exec(command, cwd=PROJECT, timeout_s=limit_s)
    if done.returncode != 0:
        raise FawkesError(f"{' '.join(command[:4])} failed: {done.stderr.strip()[-2000:]}")
    return str(done.stdout)


def measured_inside(lab: Lab, module: str, *words: str) -> dict[str, list[float]]:
    """The values that a module measures in a lab, whose site is its first word, and prints as JSON."""
    done = lab.exec([sys.executable, "-m", module, str(lab.site), *words], cwd=PROJECT, stderr=None)
    if done.returncode != 0:
        raise FawkesError("the measurement inside of the lab failed", hint="The reason stands above")
    measured: dict[str, list[float]] = json.loads(done.stdout)
    return measured


def command_on(site: Site, *words: str, good: Sequence[int] = (0,)) -> str:
    """The output of a command of Fawkes on a site; FawkesError when it ends otherwise than ``good``."""
    command = [sys.executable, "-m", "fawkes", "--site", str(site.root), *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=False)
    if done.returncode not in good:
        raise FawkesError(f"`fawkes {' '.join(words)}` ended with {done.returncode}: {done.stdout[-2000:]}")
    return done.stdout


def until(what: str, look: Callable[[], T | None], *, limit_s: float = 600.0, every_s: float = 0.25) -> T:
    """The first answer of ``look`` that is true; DeadlineError when that takes longer than ``limit_s`` seconds."""
    limit = time.monotonic() + limit_s
    while not (answer := look()):
        if time.monotonic() > limit:
            raise DeadlineError(f"waited {limit_s:.0f} s for {what}")
        time.sleep(every_s)
    return answer


def to_stderr(text: str) -> None:
    """Progress of a show, beside its tables."""
    print(text, file=sys.stderr)


def exit_status(main: Callable[[], int]) -> int:
    """The exit status of a program; an error of Fawkes is printed and has its own."""
    try:
        return main()
    except FawkesError as error:
        print(error, file=sys.stderr)
        return error.exit_status
