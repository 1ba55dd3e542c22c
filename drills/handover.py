"""A hand-over: a hostile job of one MR-cluster, and the next MR-cluster on the same node, which looks for a byte of it.

The job knows all that an attacker may know: Fawkes's folders, the name of the next MR-cluster, how processes are found.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fawkes.core.values.model import ClusterLife, JobLife
from tests.support.site import RealSite, real_site

NODE = "node01"
FIRST, NEXT = "first", "next"
USERS = {FIRST: "alpha", NEXT: "beta"}
_WORK = "/srv/fawkes"
_SOFTWARE = "/srv/software"
_DROP = "/srv/drop"
_STOLEN = f"{_DROP}/stolen"
_KEY = f"{_WORK}/clusters/{NEXT}/conf/doors.key"

#: what the job leaves: what it is called in the table, and where it is
PLACES: Mapping[str, str] = {
    "a file in /tmp": "/tmp/.x/a",
    "a file in /var/tmp": "/var/tmp/.x",
    "a file in /dev/shm": "/dev/shm/.x",
    "a file in /run/lock": "/run/lock/.x",
    "a key in ~/.ssh": "$HOME/.ssh/authorized_keys",
    "a line in ~/.profile": "$HOME/.profile",
    "a hidden file in the home": "$HOME/.cache/x",
    "a file in the work folder": f"{_WORK}/.x",
    "a folder of the next MR-cluster, made before it comes": f"{_WORK}/clusters/{NEXT}/logs/.x",
    "its own folders": f"{_WORK}/clusters/{FIRST}/tmp/.x",
    "a changed jar": f"{_SOFTWARE}/hadoop-3.5.0/lib/hadoop-common-3.5.0.jar",
    "a jar more": f"{_SOFTWARE}/hadoop-3.5.0/lib/aaa.jar",
    "a file in a folder of the site that everybody can write": f"{_DROP}/x",
}
#: what the page `security` says that a wipe does not look for
KNOWN = frozenset({"a file in a folder of the site that everybody can write"})
PROCESS = "a process without marks, in a session of its own"
STEALS = "this process reads the key of the next MR-cluster"
LEASE = "a lease of its own"

_HOSTILE = r"""
secret=$1
( env -i HOME="$HOME" setsid /bin/sh -c 'trap "" TERM HUP INT; cd /; exec <&- >/dev/null 2>&1
    while :; do cat KEY >STOLEN.new && mv STOLEN.new STOLEN; sleep 0.2; done' "$secret" & )
leave() {
    mkdir -p "${1%/*}"; chmod a+rx "${1%/*}"
    echo "$secret" >>"$1" && chmod a+r "$1" && echo "left $1"
} 2>/dev/null
PLACES
cp WORK/lease "$HOME/.lease" && echo "pool=mine" >WORK/lease && echo "left lease" && cp "$HOME/.lease" WORK/lease
rm -f "$HOME/.lease"
exit 0
"""

_SEARCH = r"""
secret=$1$2
look() { printf '%s\n' "$secret" | grep -rlsa -F -f - "$@"; }
look /tmp /var/tmp /dev/shm /run/lock WORK SOFTWARE DROP /srv/users "$HOME/.ssh" "$HOME/.profile" "$HOME/.cache"
for process in /proc/[0-9]*; do look "$process/cmdline" "$process/environ" && echo PROCESS; done
exit 0
"""

_SETTINGS = """
preset = "demo"
period = "10s"
sample_every = "2s"
idle_time = "never"
"""
_CLUSTER = """
min_nodes = 1
replication = 1
hadoop_version = "3.5.0"
{run_as}
"""
_JOB = """
kind = "script"
command = "/bin/sh ./{name}.sh {words}"
files = ["{name}.sh"]
"""


@dataclass(frozen=True)
class Handover:
    """What came of it: by trace, whether the job could ``leave`` it, the next owner could ``find`` it, root still can.

    ``reasons`` are the sentences' codes and facts by which the controller told of it.
    """

    left: Mapping[str, bool]
    found: Mapping[str, bool]
    there: Mapping[str, bool]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Way:
    """How two MR-clusters are kept apart: with Unix users of their own, with control groups, or neither."""

    title: str
    run_as: bool
    control_groups: bool


BARE = Way("without `run_as`", run_as=False, control_groups=False)
GROUPED = Way("the same, with control groups", run_as=False, control_groups=True)
OWN_USER = Way("with `run_as`", run_as=True, control_groups=False)


def play(folder: Path, way: Way) -> Handover:
    """One hand-over on a lab of its own."""
    users = tuple(USERS.values())
    with real_site(folder, 1, _SETTINGS, users=users, control_groups=way.control_groups) as site:
        inventory = site.root / "inventory.toml"
        inventory.write_text(inventory.read_text().replace("/srv/dist", _SOFTWARE))
        for name, user in USERS.items():
            site.write(f"clusters/{name}.toml", _CLUSTER.format(run_as=f'run_as = "{user}"' if way.run_as else ""))
        site.on(NODE, f"mkdir -p {_DROP} /run/lock; chmod 1777 {_DROP} /run/lock")
        site.run()
        return _handed_over(site)


def _handed_over(site: RealSite) -> Handover:
    secret = secrets.token_hex(12)
    site.request(FIRST)
    said = _run(site, FIRST, "hostile", _hostile(), secret)
    home = said.splitlines()[0]
    left = {name: f"left {_at(place, home)}" in said for name, place in PLACES.items()}
    left |= {PROCESS: True, STEALS: True, LEASE: "left lease" in said}
    site.fawkes("release", FIRST, "--discard-data", "--yes")
    site.until_life(ClusterLife.GONE, FIRST)
    site.request(NEXT)
    half = len(secret) // 2
    seen = _run(site, NEXT, "search", _search(), f"{secret[:half]} {secret[half:]}")
    rest = site.on(NODE, f"set -- {secret[:half]} {secret[half:]}\n{_search()}")
    stolen = site.on(NODE, f"if cmp -s {_STOLEN} {_KEY}; then echo yes; fi").strip() == "yes"
    reasons = tuple(str(r) for code in ("software-repaired", "left-behind") for r in site.ledger.reasons(code))
    return Handover(left, _seen(seen, home, stolen), _seen(rest, home, stolen), reasons)


def _run(site: RealSite, cluster: str, name: str, script: str, words: str) -> str:
    """What a job with this script prints; the first line is the home of its user."""
    site.write(f"jobs/{name}.sh", f'echo "$HOME"\n{script}')
    site.fawkes("submit", cluster, site.job(name, _JOB.format(name=name, words=words)))
    (job,) = site.until_ended(name)
    assert job.life is JobLife.SUCCEEDED, site.story()
    return site.on(NODE, f"cat {_WORK}/clusters/{cluster}/jobs/{name}.1/stdout")


def _hostile() -> str:
    places = "\n".join(f'leave "{place}"' for place in PLACES.values())
    text = _HOSTILE.replace("PLACES", places).replace("STOLEN", _STOLEN).replace("KEY", _KEY)
    return text.replace("WORK", _WORK)


def _search() -> str:
    text = _SEARCH.replace("WORK", _WORK).replace("SOFTWARE", _SOFTWARE).replace("DROP", _DROP)
    return text.replace("PROCESS", "process")


def _seen(said: str, home: str, stolen: bool) -> dict[str, bool]:
    lines = set(said.splitlines())
    seen = {name: _at(place, home) in lines for name, place in PLACES.items()}
    return {**seen, PROCESS: "process" in lines, STEALS: stolen, LEASE: False}


def _at(place: str, home: str) -> str:
    return place.replace("$HOME", home)


def rows(played: Mapping[Way, Handover]) -> Iterator[str]:
    """All ways as a table in Markdown."""
    yield f"| the job left | {' | '.join(f'{way.title} | the next owner found it' for way in played)} |"
    yield "| --- |" + " --- | --- |" * len(played)
    for name in (*PLACES, PROCESS, STEALS, LEASE):
        cells = [name]
        for one in played.values():
            cells += ["left" if one.left[name] else "refused", "**yes**" if one.found[name] else "no"]
        yield f"| {' | '.join(cells)} |"
