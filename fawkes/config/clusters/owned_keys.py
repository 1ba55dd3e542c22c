"""Hadoop's keys that nobody overrides, because Fawkes relies on their values, and names that keys had before."""

from __future__ import annotations

_MEMBERS = "Fawkes writes the list of members"
_MASTERS = "Fawkes itself decides where the masters are: see the key masters"
_PLACES = "Fawkes asks Hadoop's usual ports at the data address of a node: see data_address in inventory.toml"
_DOORS = "Fawkes closes the ports with it: see the key clients"
_KERBEROS = "Fawkes sets it from the table [kerberos] in fawkes.toml"
_KEPT = "Fawkes keeps it on core nodes and looks for it there"
_NO_NAMES = "With it masters refuse nodes whose names they cannot find"
_HTTP = "Fawkes asks the web servers by HTTP; with [kerberos] in fawkes.toml those of HDFS have HTTPS"

_ADDRESSES = (
    "dfs.datanode.address",
    "dfs.datanode.hostname",
    "dfs.datanode.http.address",
    "dfs.datanode.https.address",
    "dfs.datanode.ipc.address",
    "dfs.journalnode.http-address",
    "dfs.journalnode.https-address",
    "dfs.journalnode.rpc-address",
    "dfs.namenode.http-address",
    "dfs.namenode.https-address",
    "dfs.namenode.lifeline.rpc-address",
    "dfs.namenode.rpc-address",
    "dfs.namenode.servicerpc-address",
    "mapreduce.jobhistory.address",
    "mapreduce.jobhistory.admin.address",
    "mapreduce.jobhistory.webapp.address",
    "mapreduce.jobhistory.webapp.https.address",
    "mapreduce.shuffle.port",
    "yarn.log.server.url",
    "yarn.nodemanager.address",
    "yarn.nodemanager.hostname",
    "yarn.nodemanager.localizer.address",
    "yarn.nodemanager.webapp.address",
    "yarn.nodemanager.webapp.https.address",
    "yarn.resourcemanager.address",
    "yarn.resourcemanager.admin.address",
    "yarn.resourcemanager.resource-tracker.address",
    "yarn.resourcemanager.scheduler.address",
    "yarn.resourcemanager.webapp.address",
    "yarn.resourcemanager.webapp.https.address",
    "yarn.web-proxy.address",
)
_KERBEROS_KEYS = (
    "dfs.data.transfer.protection",
    "dfs.datanode.kerberos.principal",
    "dfs.datanode.keytab.file",
    "dfs.encrypt.data.transfer.cipher.suites",
    "dfs.journalnode.kerberos.internal.spnego.principal",
    "dfs.journalnode.kerberos.principal",
    "dfs.journalnode.keytab.file",
    "dfs.namenode.kerberos.internal.spnego.principal",
    "dfs.namenode.kerberos.principal",
    "dfs.namenode.keytab.file",
    "dfs.secondary.namenode.kerberos.principal",
    "dfs.secondary.namenode.keytab.file",
    "dfs.web.authentication.kerberos.keytab",
    "dfs.web.authentication.kerberos.principal",
    "hadoop.http.authentication.kerberos.keytab",
    "hadoop.http.authentication.kerberos.principal",
    "hadoop.http.authentication.signature.secret.file",
    "hadoop.http.authentication.simple.anonymous.allowed",
    "hadoop.http.authentication.type",
    "hadoop.rpc.protection",
    "hadoop.security.auth_to_local",
    "hadoop.security.authentication",
    "hadoop.security.crypto.codec.classes.aes.ctr.nopadding",
    "hadoop.ssl.client.conf",
    "hadoop.ssl.hostname.verifier",
    "hadoop.ssl.server.conf",
    "mapreduce.admin.map.child.java.opts",
    "mapreduce.admin.reduce.child.java.opts",
    "mapreduce.jobhistory.keytab",
    "mapreduce.jobhistory.principal",
    "mapreduce.jobhistory.webapp.spnego-keytab-file",
    "mapreduce.jobhistory.webapp.spnego-principal",
    "yarn.nodemanager.keytab",
    "yarn.nodemanager.principal",
    "yarn.nodemanager.webapp.spnego-keytab-file",
    "yarn.nodemanager.webapp.spnego-principal",
    "yarn.resourcemanager.keytab",
    "yarn.resourcemanager.principal",
    "yarn.resourcemanager.webapp.spnego-keytab-file",
    "yarn.resourcemanager.webapp.spnego-principal",
)

OWNED = {
    **dict.fromkeys(_ADDRESSES, _PLACES),
    **dict.fromkeys(_KERBEROS_KEYS, _KERBEROS),
    "dfs.block.access.token.enable": "Without it anybody who reaches a DataNode reads all blocks",
    "dfs.blocksize": "Use the key block_size",
    "dfs.client.failover.proxy.provider": _MASTERS,
    "dfs.datanode.httpserver.filter.handlers": _DOORS,
    "dfs.ha.automatic-failover.enabled": _MASTERS,
    "dfs.ha.namenode.id": _MASTERS,
    "dfs.ha.namenodes": _MASTERS,
    "dfs.hosts": _MEMBERS,
    "dfs.hosts.exclude": "Fawkes writes the list of members that leave",
    "dfs.http.policy": _HTTP,
    "dfs.internal.nameservices": _MASTERS,
    "dfs.namenode.datanode.registration.ip-hostname-check": _NO_NAMES,
    "dfs.namenode.hosts.provider.classname": _MEMBERS,
    "dfs.nameservice.id": _MASTERS,
    "dfs.nameservices": _MASTERS,
    "dfs.replication": "Use the key replication",
    "fs.defaultFS": "Fawkes sets it to the MR-cluster's NameNode",
    "hadoop.http.filter.initializers": _DOORS,
    "hadoop.security.authorization": _DOORS,
    "mapreduce.framework.name": "Jobs of an MR-cluster run in its YARN",
    "mapreduce.jobhistory.done-dir": _KEPT,
    "mapreduce.jobhistory.http.policy": _HTTP,
    "mapreduce.jobhistory.intermediate-done-dir": _KEPT,
    "yarn.app.mapreduce.am.admin-command-opts": "Fawkes closes the ports of jobs with it: use ...am.command-opts",
    "yarn.app.mapreduce.am.staging-dir": _KEPT,
    "yarn.http.policy": _HTTP,
    "yarn.nodemanager.env-whitelist": "A wipe finds the processes of jobs by variables that it names",
    "yarn.resourcemanager.ha.automatic-failover.enabled": _MASTERS,
    "yarn.resourcemanager.ha.enabled": _MASTERS,
    "yarn.resourcemanager.ha.id": _MASTERS,
    "yarn.resourcemanager.ha.rm-ids": _MASTERS,
    "yarn.resourcemanager.hostname": "Fawkes sets it to the MR-cluster's first core node",
    "yarn.resourcemanager.nodes.exclude-path": "Fawkes writes the list of members that leave",
    "yarn.resourcemanager.nodes.include-path": _MEMBERS,
    "yarn.resourcemanager.resource-tracker.nm.ip-hostname-check": _NO_NAMES,
    "yarn.resourcemanager.recovery.enabled": "Jobs go on after a start of the masters only with it",
}
"""Keys whose values Fawkes relies on, or that have a key of their own, each with what to do instead."""

_ENDS = {
    ".bind-host": "Daemons listen on the data address of their node alone: see data_address in inventory.toml",
    ".auxiliary-ports": _PLACES,
}

FOLDERS = frozenset(
    {
        "dfs.datanode.data.dir",
        "dfs.domain.socket.path",
        "dfs.journalnode.edits.dir",
        "dfs.namenode.checkpoint.dir",
        "dfs.namenode.checkpoint.edits.dir",
        "dfs.namenode.edits.dir",
        "dfs.namenode.legacy-oiv-image.dir",
        "dfs.namenode.name.dir",
        "dfs.namenode.shared.edits.dir",
        "hadoop.tmp.dir",
        "io.seqfile.local.dir",
        "mapreduce.cluster.local.dir",
        "mapreduce.jobhistory.recovery.store.fs.uri",
        "mapreduce.jobhistory.recovery.store.leveldb.path",
        "yarn.node-attribute.fs-store.root-dir",
        "yarn.node-labels.fs-store.root-dir",
        "yarn.nodemanager.local-dirs",
        "yarn.nodemanager.log-dirs",
        "yarn.nodemanager.recovery.dir",
        "yarn.resourcemanager.fs.state-store.uri",
        "yarn.resourcemanager.leveldb-state-store.path",
        "yarn.resourcemanager.store.class",
        "yarn.timeline-service.leveldb-state-store.path",
        "yarn.timeline-service.leveldb-timeline-store.path",
    }
)
"""Keys that say where data, logs and state lie: elsewhere no wipe would find them."""

FOLDERS_HINT = (
    "All of an MR-cluster lies below the work folder of its node, or the wipe misses it: set work_dir in inventory.toml"
)

OLD_NAMES = {
    "dfs.block.size": "dfs.blocksize",
    "dfs.data.dir": "dfs.datanode.data.dir",
    "dfs.federation.nameservice.id": "dfs.nameservice.id",
    "dfs.federation.nameservices": "dfs.nameservices",
    "dfs.http.address": "dfs.namenode.http-address",
    "dfs.https.address": "dfs.namenode.https-address",
    "dfs.max-repl-streams": "dfs.namenode.replication.max-streams",
    "dfs.name.dir": "dfs.namenode.name.dir",
    "dfs.name.edits.dir": "dfs.namenode.edits.dir",
    "dfs.namenode.replication.considerLoad": "dfs.namenode.redundancy.considerLoad",
    "dfs.namenode.replication.interval": "dfs.namenode.redundancy.interval.seconds",
    "dfs.namenode.replication.pending.timeout-sec": "dfs.namenode.reconstruction.pending.timeout-sec",
    "dfs.replication.considerLoad": "dfs.namenode.redundancy.considerLoad",
    "dfs.replication.interval": "dfs.namenode.redundancy.interval.seconds",
    "dfs.replication.pending.timeout.sec": "dfs.namenode.reconstruction.pending.timeout-sec",
    "dfs.safemode.extension": "dfs.namenode.safemode.extension",
    "fs.checkpoint.dir": "dfs.namenode.checkpoint.dir",
    "fs.checkpoint.edits.dir": "dfs.namenode.checkpoint.edits.dir",
    "fs.default.name": "fs.defaultFS",
    "heartbeat.recheck.interval": "dfs.namenode.heartbeat.recheck-interval",
    "io.sort.mb": "mapreduce.task.io.sort.mb",
    "jobclient.completion.poll.interval": "mapreduce.client.completion.pollinterval",
    "jobclient.progress.monitor.poll.interval": "mapreduce.client.progressmonitor.pollinterval",
    "mapred.acls.enabled": "mapreduce.cluster.acls.enabled",
    "mapred.job.map.memory.mb": "mapreduce.map.memory.mb",
    "mapred.job.reduce.memory.mb": "mapreduce.reduce.memory.mb",
    "mapred.local.dir": "mapreduce.cluster.local.dir",
    "mapred.map.child.env": "mapreduce.map.env",
    "mapred.map.child.java.opts": "mapreduce.map.java.opts",
    "mapred.reduce.child.env": "mapreduce.reduce.env",
    "mapred.reduce.child.java.opts": "mapreduce.reduce.java.opts",
    "mapred.submit.replication": "mapreduce.client.submit.file.replication",
    "slave.host.name": "dfs.datanode.hostname",
}
"""Names that Hadoop still takes for keys that Fawkes writes or owns. Hadoop has no order between old and new name."""


_WITH_ENDS = {
    *_ADDRESSES,
    "dfs.client.failover.proxy.provider",
    "dfs.ha.namenodes",
    "yarn.resourcemanager.hostname",
    *(key for key in FOLDERS if key.startswith("dfs.namenode.")),
}
_OTHERS = {"dfs.namenode.edits.dir.minimum", "dfs.namenode.edits.dir.required", "dfs.namenode.name.dir.restore"}


def why_owned(key: str) -> str | None:
    """The advice for whoever wants to override a key; None for a key that may be overridden.

    Some keys may have the names of a service and of a daemon at their end: ``dfs.namenode.rpc-address.ns1.nn1``.
    """
    for end, hint in _ENDS.items():
        if key.endswith(end):
            return hint
    if key.startswith("security.") and key.endswith(".hosts"):
        return _DOORS
    above = [key.rsplit(".", cut)[0] for cut in (1, 2)] if key not in _OTHERS else []
    for base in (key, *(base for base in above if base in _WITH_ENDS)):
        if base in OWNED:
            return OWNED[base]
        if base in FOLDERS:
            return FOLDERS_HINT
    return None
