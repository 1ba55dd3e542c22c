"""Jobs of tasks on an MR-cluster: the command of an attempt, and the jar that goes along with it."""

from __future__ import annotations

from dataclasses import replace

from fawkes.config.clusters.details import JobDetails, TaskArray
from fawkes.config.jobs import arrays
from fawkes.core.values.effects import StartJob
from fawkes.live.hadoop.setup import Setup
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.nodes.upload import uploaded
from fawkes.playbook.criu import debian
from fawkes.playbook.dist.compile.compiled import TASKS, place_of

KIND = arrays.KIND
#: in the output of a job: what tasks have saved or not written whole, and the file whose name says whose output it is
PARTS, OWNER = ("_saved", "_temporary"), "_job."
#: the script of a container
_SCRIPT = "fawkes-task"


def details_of(setup: Setup, cluster: LiveCluster, effect: StartJob, details: JobDetails) -> JobDetails:
    """The details with the jar and the class of the client, and what it needs to know; its arguments are files.

    UserError for tasks that no node has room for.
    """
    array = details.array or TaskArray(memory_mb=1)
    step_mb = int(setup.settings(cluster)["yarn-site"]["yarn.scheduler.minimum-allocation-mb"])
    memory_mb = arrays.container_mb(array, setup.pool(), step_mb)
    own = arrays.properties(effect.spec, array, details.output, details.command, memory_mb)
    jar, folder = str(place_of(TASKS)), setup.files_folder(cluster, effect)
    files = (*details.files, str(TASKS.sources / _SCRIPT))
    if array.checkpoint == arrays.CRIU:
        files = (*files, str(debian.SCRIPT), str(debian.place_of(debian.CRIU)))
    return replace(
        details,
        jar=jar,
        main_class=arrays.CLIENT,
        files=files,
        args=tuple(uploaded(folder, name) for name in (jar, *files)),
        properties={**details.properties, **own},
    )
