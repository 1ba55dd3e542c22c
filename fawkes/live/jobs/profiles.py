"""Profiles that the runs of jobs make by themselves, where the one that they were given does not fit."""

from __future__ import annotations

import io
import logging
from pathlib import Path

from fawkes.base.errors import FawkesError
from fawkes.config.jobs.events import profile_of_log
from fawkes.config.jobs.profiles import keep
from fawkes.core.quota.sight import Goal
from fawkes.live.hadoop.setup import Setup
from fawkes.live.jobs.attempts import applications_of
from fawkes.live.jobs.event_log import event_lines
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.wire.rest import UnreadableError
from fawkes.live.wire.webhdfs import Hdfs

_log = logging.getLogger(__name__)


def learn(setup: Setup, cluster: LiveCluster | None, goal: Goal, folder: Path) -> None:
    """Keep what an attempt that has ended did as the next version of its profile, if it ended well and this fits.

    What keeps it from that is a warning with the next command; a job is never touched by it.
    """
    name = goal.profile.name
    again = f"`fawkes profile run` makes the next version of the profile {name}"
    try:
        if cluster is None:
            raise FawkesError(f"{goal.cluster} is gone")
        ended = [app for app in applications_of(setup, cluster, goal.job, goal.attempt) if app.succeeded]
        if not ended:
            _log.info("%s made no new profile: YARN knows no application of it that has ended well", goal.job)
            return
        pieces = event_lines(Hdfs.of(setup.masters(cluster)), ended[-1].id)
        lines = (line for piece in pieces for line in io.BytesIO(piece.encode()))
        ran_us = None if ended[-1].finished_us is None else (ended[-1].started_us, ended[-1].finished_us)
        made = profile_of_log(lines, name, f"the event log of {ended[-1].id}", ran_us)
        if not made.fits_better(goal.profile):
            _log.info("%s: its run made the same profile as version %d of %s", goal.job, goal.profile.version, name)
            return
        kept = keep(folder, made)
    except (UnreadableError, FawkesError) as error:
        _log.warning("%s made no new profile: %s; %s", goal.job, error, again)
    else:
        _log.warning(
            "%s made version %d of the profile %s: version %d did not fit",
            goal.job,
            kept.version,
            name,
            goal.profile.version,
        )
