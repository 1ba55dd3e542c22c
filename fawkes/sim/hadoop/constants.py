"""Constants of the model of Hadoop, each with where it is from: measured, published, derived or assumed.

Rates are bytes a second of one node. The paper's platform (DAS-4) is the default; a scenario names what differs, and
`fawkes calibrate` writes such a table for a site.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

MB = 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """Machine and Hadoop. ``shared_cores``: all nodes are on one machine (a lab) and ``cores`` are that machine's.

    ``map_slots`` and ``reduce_slots`` of 0 are containers for either (YARN), ``slots`` of them.

    - ``map_slots``, ``reduce_slots``: 6 and 2 in the paper (published, section 5)
    - ``disk_bytes_s``: one stream on the disks of a node (assumed: 200 MB/s, RAID-0 of two SATA disks; the times of
      Figure 2 are not in the text). One task never gets more
    - ``disk_seek``: part of a disk's time that each further stream at once costs (fitted on Sort in section 6.1)
    - ``network_bytes_s``: a node's network, each way; one task never gets more. QDR InfiniBand by IP, 1.25 GB/s
      (assumed)
    - ``rack_nodes``, ``oversubscription``: nodes in a rack (0: all in one), and how many times what its nodes could
      send is what leaves it. An MR-cluster's nodes lie evenly over as few racks as hold them
    - ``site_bytes_s``: light paths of 10 Gb/s between sites (published, section 5)
    - ``site_stream_bytes_s``: what one task gets of that link (derived: InfiniBand ends at a site, so that nodes reach
      the other one by their 1 GbE)
    - ``serial``: part of the shorter streams of a phase (reading, computing, writing) that does not run beside the
      longest one (assumed: 0 is a perfect overlap, 1 adds all up as Starfish's cost models of Hadoop do)
    - ``storage_bytes_s``: what the persistent storage gives and takes, for all together (derived: in section 7.1 an
      MR-cluster still loads its 50 GB when the next one comes 100 s later, so it is below 0.57 GB/s)
    - ``cores``: 8 (published)
    - ``remote_read``: a byte read from a node that has it not costs so many (fitted on Sort in section 6.1)
    - ``output_passes``: a byte of each replica passes over disks so many times (1: it is written once)
    - ``output_replicas``: of what jobs write; 0 is the replication of their MR-cluster
    - ``master_share``: each job holds a slot for its ApplicationMaster where containers are for either kind of task,
      all of these together no more than this share of the slots, but one at least (0: they take none). Fawkes gives
      YARN 0.5; Hadoop 1 has none, and neither has a rigid job
    - ``slow_start``: share of the maps that have ended before reduces begin (Hadoop's default)
    - ``job_begin_us``, ``job_end_us``: from the submission to the first map, from the last task to the end (measured:
      6 to 8 s and 2 to 10 s in the Rumen and SLS traces)
    - ``job_begin_cpu_us``: time on one core that the first of these takes; ``task_start_us``, ``task_start_cpu_us``: a
      task that starts alone takes so long before its work, and so much of one core (none where there are cores enough;
      `fawkes calibrate` measures them)
    - ``task_end_us``: a slot is free again so long after its task has ended: the TaskTracker says so with its next
      heartbeat, every 3 s in Hadoop 1, so half of that in the mean (published default)
    - ``join_cpu_us``: time on one core that the daemons of a node take until it serves, where all nodes share the cores
      (none unless asked for). A deployment starts those of its nodes, and three masters
    - ``idle_cores``: cores that a node's daemons take all the time (none unless asked for)
    - ``keep_cores``: cores that copying the masters' data of an MR-cluster takes all the time (measured on a lab; none
      unless asked for)
    - ``standby_cores``: cores that the second NameNode and the journal of an MR-cluster take all the time, until it
      ends (measured on a lab: 0.01 of a core while nobody writes; none unless asked for)
    - ``block_bytes``, ``heartbeat_us``, ``streams``, ``multiplier``: how HDFS copies from a node that leaves: every
      heartbeat ``multiplier`` blocks for each live node, ``streams`` from each source (read in the source of Hadoop 1)
    - ``decommission_us``: how often the NameNode looks whether a node that leaves has been emptied
      (dfs.namenode.decommission.interval, Hadoop's default of 30 s; measured from the start of the run)
    - ``spread``: standard deviation of the work of equal tasks, of the mean (measured: the median over the jobs with 30
      maps and more in the Rumen and SLS traces, 0.10 to 0.40, without three that mix two kinds of maps)
    - ``node_spread``: standard deviation of the speeds of nodes, of the mean (none unless asked for)
    - ``stragglers``, ``straggle``: share of attempts that have so many times the work (none unless asked for)
    - ``speculative``: an attempt that takes longer than the mean is overtaken by a second one that begins when the mean
      is over. The slot of the second one is not counted
    """

    slots: int = 8
    map_slots: int = 6
    reduce_slots: int = 2
    disk_bytes_s: float = 200.0 * MB
    disk_seek: float = 0.75
    network_bytes_s: float = 1250.0 * MB
    rack_nodes: int = 0
    oversubscription: float = 1.0
    site_bytes_s: float = 1250.0 * MB
    site_stream_bytes_s: float = 125.0 * MB
    serial: float = 0.2
    storage_bytes_s: float = 500.0 * MB
    cores: float = 8.0
    remote_read: float = 1.5
    output_passes: float = 1.0
    output_replicas: int = 0
    master_share: float = 0.0
    slow_start: float = 0.05
    job_begin_us: int = 7_000_000
    job_end_us: int = 4_000_000
    job_begin_cpu_us: int = 0
    task_start_us: int = 0
    task_start_cpu_us: int = 0
    task_end_us: int = 1_500_000
    join_cpu_us: int = 0
    idle_cores: float = 0.0
    keep_cores: float = 0.0
    standby_cores: float = 0.0
    block_bytes: int = 134_217_728
    heartbeat_us: int = 3_000_000
    decommission_us: int = 30_000_000
    shared_cores: bool = False
    streams: int = 2
    multiplier: int = 2
    spread: float = 0.165
    node_spread: float = 0.0
    stragglers: float = 0.0
    straggle: float = 5.0
    speculative: bool = False


DAS4 = Constants()

#: the paper's experiments on it. One replica of what jobs write: with three, half transient-core nodes cost Sort at
#: most a third of what half transient ones do (+14 % beside +50 %), and the paper has +23 % beside +40 %
PAPER = replace(DAS4, output_replicas=1)

#: nothing but slots and time: tasks of known length, as in tests of the core
PLAIN = Constants(
    slots=2,
    map_slots=0,
    reduce_slots=0,
    disk_bytes_s=inf,
    disk_seek=0.0,
    network_bytes_s=inf,
    site_bytes_s=inf,
    site_stream_bytes_s=inf,
    serial=0.0,
    storage_bytes_s=inf,
    cores=inf,
    job_begin_us=0,
    job_end_us=0,
    task_end_us=0,
    decommission_us=0,
    spread=0.0,
)
