"""Constants of the model of Hadoop, each with where it is from: measured, published, derived or assumed.

Rates are bytes a second of one node. The paper's platform (DAS-4) is the default; a scenario names what differs, and
`fawkes calibrate` writes such a table for a site.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

MB = 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """Machine and Hadoop. ``shared_cores``: all nodes are on one machine (a lab) and ``cores`` are that machine's.

    ``map_slots`` and ``reduce_slots`` of 0 are containers for either (YARN), ``slots`` of them.

    - ``map_slots``, ``reduce_slots``: 6 and 2 in the paper (published, section 5)
    - ``disk_bytes_s``: 100 MB/s with a dozen streams (assumed: the times of Figure 2 are not in the text)
    - ``network_bytes_s``: QDR InfiniBand by IP, 1.25 GB/s (assumed): never the limit inside a site, as the paper says
    - ``site_bytes_s``: light paths of 10 Gb/s between sites (published, section 5)
    - ``storage_bytes_s``: what the persistent storage gives and takes, for all together (derived: in section 7.1 an
      MR-cluster still loads its 50 GB when the next one comes 100 s later, so it is below 0.57 GB/s)
    - ``cores``: 8 (published)
    - ``remote_read``: a byte read from a node that has it not costs so many (derived: 1.19 from Figure 3a)
    - ``output_passes``: a byte of output passes over disks so many times (derived: 1.02 from Figure 3a)
    - ``slow_start``: share of the maps that have ended before reduces begin (Hadoop's default)
    - ``job_begin_us``, ``job_end_us``: from the submission to the first map, from the last task to the end (measured:
      6 to 8 s and 2 to 10 s in the Rumen and SLS traces)
    - ``job_begin_cpu_us``: time on one core that the first of these takes; ``task_start_us``, ``task_start_cpu_us``: a
      task that starts alone takes so long before its work, and so much of one core (none where there are cores enough;
      `fawkes calibrate` measures them)
    - ``join_cpu_us``: time on one core that the daemons of a node take until it serves, where all nodes share the cores
      (none unless asked for)
    - ``block_bytes``, ``heartbeat_us``, ``streams``, ``multiplier``: how HDFS copies from a node that leaves: every
      heartbeat ``multiplier`` blocks for each live node, ``streams`` from each source (read in the source of Hadoop 1)
    - ``decommission_us``: how often the NameNode looks whether a node that leaves has been emptied
      (dfs.namenode.decommission.interval, Hadoop's default of 30 s; measured from the start of the run)
    - ``spread``: standard deviation of the work of equal tasks, of the mean (measured: the median over the jobs with 30
      maps and more in the Rumen and SLS traces, 0.10 to 0.40, without three that mix two kinds of maps)
    - ``stragglers``, ``straggle``: share of attempts that have so many times the work (none unless asked for)
    """

    slots: int = 8
    map_slots: int = 6
    reduce_slots: int = 2
    disk_bytes_s: float = 100.0 * MB
    network_bytes_s: float = 1250.0 * MB
    site_bytes_s: float = 1250.0 * MB
    storage_bytes_s: float = 500.0 * MB
    cores: float = 8.0
    remote_read: float = 1.19
    output_passes: float = 1.02
    slow_start: float = 0.05
    job_begin_us: int = 7_000_000
    job_end_us: int = 4_000_000
    job_begin_cpu_us: int = 0
    task_start_us: int = 0
    task_start_cpu_us: int = 0
    join_cpu_us: int = 0
    block_bytes: int = 134_217_728
    heartbeat_us: int = 3_000_000
    decommission_us: int = 30_000_000
    shared_cores: bool = False
    streams: int = 2
    multiplier: int = 2
    spread: float = 0.165
    stragglers: float = 0.0
    straggle: float = 5.0


DAS4 = Constants()

#: nothing but slots and time: tasks of known length, as in tests of the core
PLAIN = Constants(
    slots=2,
    map_slots=0,
    reduce_slots=0,
    disk_bytes_s=inf,
    network_bytes_s=inf,
    site_bytes_s=inf,
    storage_bytes_s=inf,
    cores=inf,
    job_begin_us=0,
    job_end_us=0,
    decommission_us=0,
    spread=0.0,
)
