"""Limits of single calls and the times between looks: everything of this kind that has no setting.

None of these decides anything. A call that ends without its answer is a fact ("not known"); what follows, after which
patience, and when the next attempt is made, is decided in `fawkes.core` by the settings. Seconds where the name ends
in ``_S``, microseconds where it ends in ``_US``.
"""

# --- masters over HTTP and RPC

from __future__ import annotations

CONNECT_S = 3.0
"""To open a connection to a master."""
DATANODE_S = 5.0
"""To open a connection to a DataNode, for WebHDFS."""
SEND_S = 60.0
"""One piece of data on its way to a DataNode."""
MASTERS_S = 5.0
"""Masters that are asked for their members."""
APPLICATIONS_S = 10.0
"""The applications of one attempt, or why it failed."""
APPLICATION_MASTER_S = 1.0
"""One ApplicationMaster, or the JobHistory server, in a reading: one that hangs must leave the others their time."""
READING_S = 10.0
"""A reading of one MR-cluster at most; it is also never longer than ``sample_every``."""
TARGETS_S = 2.0
"""Nodes that have not reported yet how their MR-cluster is read. After that it is not read in this round."""
HDFS_S = 10.0
"""One question to a NameNode about its data."""
REPORT_S = 60.0
"""A report on every block: a large HDFS takes long for it."""
ORDER_S = 10.0
"""An order to a master over RPC."""
#: between two looks for the log of an application that has just ended
LOG_EVERY_S = 0.5
HISTORY_S = 60.0
"""All that a JobHistory server says of an attempt."""
AT_STAKE_S = 60.0
"""A list of what is at stake, for which a command waits."""
REQUEST_S = 10.0
"""A whole request to the control socket, and each wait until somebody takes a part of the answer."""
CORE_ANSWER_S = 15.0
"""An answer of the core, beyond the time that masters are given."""
TICKET_SPARE_S = 600.0
"""A Kerberos ticket that ends within this time is replaced by a new one."""
TICKET_S = 15.0
"""A Kerberos ticket, where there is none that is good: its own library waits for a KDC that hangs for a minute."""
TICKET_AGAIN_S = 60.0
"""The KDC is asked again after it gave no new ticket, while the old one is good."""
NO_TICKET_AGAIN_S = 5.0
"""The same, without one that is good."""

ANSWER_S = 5.0
"""One question to masters, or to a JournalNode, while masters are brought up or move."""
ALIVE_S = 2.0
"""Masters that were found lost, asked once more before a second NameNode takes over: what it has lacks nothing."""
QUICK_S = 2.0
"""Old masters and other members, in a look that finds a second NameNode that follows, beside most of the journal."""
CHANGE_S = 60.0
"""An order by which a NameNode becomes active: it first reads all edits that are left in the journal."""
NO_DELETION_S = 600
"""A NameNode that may lack an unknown part of its last edits deletes no replica."""

# --- steps on nodes, beside ``ssh.command_timeout``

LOGIN_S = 1.0
"""Somebody else's login under way, before the next one begins beside it: most have come to their end by then."""
JUMP_HOST_S = 2.0
"""A jump host that does not open a connection in time, asked whether it is there at all."""
CHECK_S = 60.0
"""One step of `fawkes check`."""
REACH_S = 2.0
"""A connection of `fawkes check` to an address on which masters will serve."""
ATTEMPT_S = 30.0
"""A look at the launcher of an attempt."""
LOOK_S = 10.0
"""A node that takes part in a move of masters: one that does not answer is silent."""
STEP_S = 60.0
"""A step of a move that stops daemons and waits for their end, or reads a whole image."""
FIGURES_S = 20.0
"""Figures of a JournalNode, until they are new: they are some seconds old, and never from later."""
EDITS_S = 30.0
"""A look at new edits of a NameNode, with one piece of them as the answer."""
IMAGE_S = 900.0
"""A whole image, or a whole copy, from a node or to it."""
PUSH_S = 60.0
"""One part of the second copy."""
PLACE_S = 300.0
"""To compare the files of a copy on a node and put them in their place."""
CHECKPOINT_S = 1800.0
"""A NameNode's program that makes a new image."""
MERGE_S = 1800.0
"""To read a kept copy for `fawkes restore`: the copy to the node, the image made of it, its text, each by itself."""
BLOCK_LIST_S = 600.0
"""The list of the blocks on the disks of one node."""
SECOND_LIST_S = 5.0
"""The list of members for a second NameNode."""
NEW_BLOCKS_S = 60.0
"""The list of the newest blocks of one node; all nodes are read side by side, while new masters serve."""
KEPT_LOGS_S = 60.0
"""The logs of a node before it is wiped; it is wiped without them after that."""
SHOWN_LOGS_S = 120.0
"""The logs that a command shows."""

DRIVER_S = 5.0
"""A driver of Spark, about its stages and executors; the periods meanwhile do without its answer."""
QUOTAS_S = 2.0
"""Quotas of the executors of one node, and the cores of all nodes of an MR-cluster."""

# --- how often

NODE_CORES_S = 10.0
"""The cores that NodeManagers offer: they change when nodes come and go."""

WATCH_EVERY_US = 500_000
"""Masters of an MR-cluster that a node leaves."""
SERVICE_EVERY_US = 3_000_000
"""Looks at whether an MR-cluster takes writes and applications; a NameNode itself looks at its disk every 5 s."""
SERVICE_TOLD_US = 10_000_000
"""Between two changes of that which are told."""
WAIT_TOLD_US = 15_000_000
"""The cause of a wait is told after this time, then after twice as long, and so on."""
WAITS_EVERY_US = 1_000_000
"""A look for waits that are to be told."""
QUIET_ROUNDS = 2
"""Where no node leaves, masters are looked at once in so many rounds."""
UNHEARD_S = 4
"""A DataNode that was not heard from for so long: its node is asked whether its daemons run."""
GONE_S = 5.0
"""A node that is asked whether its daemons run."""
REPORT_PART = 5
"""A NameNode makes reports for at most this part of the time: 1 in so many."""
FREE_EVERY_US = 5_000_000
"""Nodes that belong to nobody."""
JOBS_EVERY_US = 1_000_000
"""Attempts of jobs."""
TASKS_LOOK_S = 20.0
"""A node tells of its tasks; what none of them says in this time is not known."""
TASKS_WAIT_S = 5.0
"""A node waits so long for its tasks that were told to go, before it says how they stand."""
COPY_EVERY_S = 1.0
"""An attempt to copy what is loaded or saved."""
LOOK_EVERY_S = 0.25
"""Masters and daemons that are being brought up."""
CLOSE_AGAIN_S = 3.0
"""A file that HDFS has begun to close, and that is still open: the DataNode that was to end it may be gone."""
STILL_EVERY_S = 5.0
"""HDFS that is to take no writes while outputs are compared."""
REPORTS_EVERY_S = 4.0
"""Missing blocks, until no more turn up: a DataNode lists its blocks a moment after it has come."""
JOIN_EVERY_S = 0.25
"""Masters that are to take a node."""
LOOKS_PER_STATUS = 8
"""Looks at masters between two looks at the node that joins."""
LOOKS_PER_DAEMON = 12
"""Looks at masters that are being brought up between two looks at their processes."""
WORKERS_EVERY_S = 3.0
"""Workers that have ended while masters move, until they are started again."""
LOOKS_PER_LEAD = 4
"""Looks between two orders to make the masters of an MR-cluster with a journal active."""
CATCH_UP_EVERY_US = 10_000_000
"""Second NameNodes that have not heard of the latest members."""
TAKE_BACK_EVERY_US = 1_000_000
"""Members that HDFS was not to take back yet, because it may still count what was wiped."""
REPLICAS_EVERY_S = 0.2
"""Blocks that were just loaded, until all of their replicas are reported."""
ROOM_EVERY_S = 2.0
"""The disk of the ledger while it is full."""
CLEAR_EVERY_US = 60_000_000
"""Kept copies of MR-clusters that are gone."""
