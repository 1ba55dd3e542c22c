"""Hadoop's settings for an MR-cluster with Kerberos, from plain values. They win over all others.

All daemons of an MR-cluster share two principals, whose second part is the name of the MR-cluster, not of a host: nodes
pass from one MR-cluster to another, and a key that stayed with a node would let its former jobs in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from fawkes.base.errors import UserError
from fawkes.live.kerberos.keytab import Principal

KEYTAB = "fawkes.keytab"
"""The file of the configuration folder with the keys of the MR-cluster."""

KEYSTORE = "tls.p12"
"""The file of the configuration folder with the certificate and the private key of its web servers."""

KRB5_CONF = "krb5.conf"
"""The file of the configuration folder with the site's settings of Kerberos."""

SECURE_IO_JAR = "fawkes-secure-io.jar"
"""The file of the configuration folder that stands before Hadoop's own jars on the class path."""

SECURE_IO_ENTRY = f"$HADOOP_CONF_DIR/{SECURE_IO_JAR}"
"""The entry of that file on the class path of tasks, which read their own spilled output by the same class."""

"""The files that only the user of the daemons may read."""

KEYSTORE_PASSWORD = "fawkes"  # noqa: S105 - the access rights of the file protect it; Java wants a password all the same
_SERVICE, _WEB = "hadoop", "HTTP"
_REALM_FLAG = "-Djava.security.krb5.conf="
_LOGINS = "org.apache.hadoop.security.AuthenticationFilterInitializer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Secured:
    """The part of an MR-cluster with Kerberos in the configuration of its nodes.

    ``users`` are the names in the realm whose tickets it takes, besides its own.
    """

    realm: str
    cluster: str
    users: Sequence[str] = ()

    @property
    def service(self) -> Principal:
        """The principal of its daemons, and of the controller when it talks to them."""
        return Principal(f"{_SERVICE}/{self.cluster}", self.realm)

    @property
    def web(self) -> Principal:
        """The principal of its web servers."""
        return Principal(f"{_WEB}/{self.cluster}", self.realm)


def java_flags(conf_dir: str) -> tuple[str, ...]:
    """The flags of a JVM on a node that finds the site's realm; ``conf_dir`` is the configuration folder there."""
    return (f"{_REALM_FLAG}{conf_dir}/{KRB5_CONF}",)


def environment(secured: Secured, conf_dir: str) -> dict[str, str]:
    """The environment in which Hadoop's commands and scripts log in by themselves."""
    return {
        "KRB5PRINCIPAL": str(secured.service),
        "KRB5KEYTAB": f"{conf_dir}/{KEYTAB}",
        "HADOOP_OPTS": " ".join(java_flags(conf_dir)),
    }


def auth_to_local(secured: Secured, user: str) -> str:
    """Hadoop's rules for principals: the MR-cluster's own is ``user``, its users keep their names, nobody else passes.

    UserError for a user of the realm who would become the superuser.
    """
    if user in secured.users:
        raise UserError(
            f"{user!r} is the user of the daemons, who may do everything",
            where="kerberos_users",
            hint="Remove that name: a ticket in that name would be one of the superuser",
        )
    own = f"RULE:[2:$1/$2@$0]({re.escape(str(secured.service))})s/.*/{user}/"
    others = (
        f"RULE:[1:$1@$0]({re.escape(str(Principal(name, secured.realm)))})s/@.*//" for name in sorted(secured.users)
    )
    return "\n".join((own, *others))


def settings(
    secured: Secured, conf_dir: PurePosixPath, user: str, *, web_door: str, key_file: str, am_flags: Sequence[str]
) -> dict[str, dict[str, str]]:
    """The settings by file and key. ``web_door`` is the filter that comes first, ``key_file`` what signs cookies.

    ``am_flags`` are the flags that ApplicationMasters have without Kerberos.
    """
    keytab = str(conf_dir / KEYTAB)
    tasks = " ".join(java_flags("$HADOOP_CONF_DIR"))
    return {
        "core-site": {
            "hadoop.security.authentication": "kerberos",
            "hadoop.security.auth_to_local": auth_to_local(secured, user),
            # Block tokens go over RPC: data is as private as RPC is.
            "hadoop.rpc.protection": "privacy",
            "hadoop.http.filter.initializers": f"{web_door},{_LOGINS}",
            "hadoop.http.authentication.type": "kerberos",
            "hadoop.http.authentication.simple.anonymous.allowed": "false",
            # All HTTP principals of the keytab: a site may add those of its nodes' names, for browsers and curl.
            "hadoop.http.authentication.kerberos.principal": "*",
            "hadoop.http.authentication.kerberos.keytab": keytab,
            "hadoop.http.authentication.signature.secret.file": str(conf_dir / key_file),
            "hadoop.ssl.server.conf": "ssl-server.xml",
            "hadoop.ssl.client.conf": "ssl-client.xml",
            # A client trusts the one certificate of its MR-cluster, which has no host names.
            "hadoop.ssl.hostname.verifier": "ALLOW_ALL",
            # Maven's releases have no OpenSSL: each client of theirs would show a stack trace, and then do the same.
            "hadoop.security.crypto.codec.classes.aes.ctr.nopadding": "org.apache.hadoop.crypto.JceAesCtrCryptoCodec",
        },
        "hdfs-site": _hdfs(secured, keytab),
        "yarn-site": _daemons(secured, keytab, "yarn.resourcemanager.", "yarn.nodemanager."),
        "mapred-site": {
            "mapreduce.jobhistory.principal": str(secured.service),
            "mapreduce.jobhistory.keytab": keytab,
            "mapreduce.jobhistory.webapp.spnego-principal": str(secured.web),
            "mapreduce.jobhistory.webapp.spnego-keytab-file": keytab,
            # Without them tasks do not know the realm, and end.
            "yarn.app.mapreduce.am.admin-command-opts": " ".join([*am_flags, tasks]),
            "mapreduce.admin.map.child.java.opts": tasks,
            "mapreduce.admin.reduce.child.java.opts": tasks,
        },
    }


def _hdfs(secured: Secured, keytab: str) -> dict[str, str]:
    service, web = str(secured.service), str(secured.web)
    return {
        "dfs.namenode.kerberos.principal": service,
        "dfs.namenode.keytab.file": keytab,
        "dfs.namenode.kerberos.internal.spnego.principal": web,
        "dfs.secondary.namenode.kerberos.principal": service,
        "dfs.secondary.namenode.keytab.file": keytab,
        "dfs.journalnode.kerberos.principal": service,
        "dfs.journalnode.keytab.file": keytab,
        "dfs.journalnode.kerberos.internal.spnego.principal": web,
        "dfs.datanode.kerberos.principal": service,
        "dfs.datanode.keytab.file": keytab,
        "dfs.web.authentication.kerberos.principal": "*",
        "dfs.web.authentication.kerberos.keytab": keytab,
        # A DataNode on a port that any user may open proves itself by SASL, and only with HTTPS.
        "dfs.data.transfer.protection": "privacy",
        "dfs.http.policy": "HTTPS_ONLY",
        "dfs.encrypt.data.transfer.cipher.suites": "AES/CTR/NoPadding",
    }


def _daemons(secured: Secured, keytab: str, *prefixes: str) -> dict[str, str]:
    values = {}
    for prefix in prefixes:
        values[f"{prefix}principal"] = str(secured.service)
        values[f"{prefix}keytab"] = keytab
        values[f"{prefix}webapp.spnego-principal"] = str(secured.web)
        values[f"{prefix}webapp.spnego-keytab-file"] = keytab
    return values


def tls_settings(conf_dir: PurePosixPath) -> Mapping[str, Mapping[str, str]]:
    """The settings, by file, of certificates for the web servers of HDFS and for their clients on the nodes."""
    keystore = str(conf_dir / KEYSTORE)
    return {
        "ssl-server": {
            "ssl.server.keystore.location": keystore,
            "ssl.server.keystore.type": "pkcs12",
            "ssl.server.keystore.password": KEYSTORE_PASSWORD,
            "ssl.server.keystore.keypassword": KEYSTORE_PASSWORD,
        },
        "ssl-client": {
            "ssl.client.truststore.location": keystore,
            "ssl.client.truststore.type": "pkcs12",
            "ssl.client.truststore.password": KEYSTORE_PASSWORD,
        },
    }
