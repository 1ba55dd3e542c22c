"""A site on a lab whose MR-cluster ``alpha`` wants tickets: a KDC, people with keytabs, and what they ask it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fawkes.playbook.dist import cache
from fawkes.playbook.dist.compile.java import find_java
from fawkes.playbook.dist.pins import PINS
from fawkes.playbook.dist.release import Release
from tests.playbook.dist.helpers import LocalShell
from tests.support.kdc import REALM, SITE_TABLE, Kdc, serving_realm
from tests.support.site import FAWKES, LIMIT_S, PROJECT, RealSite, real_site

WORDS = 20_000
PEOPLE = {"alice": "alice", "bob": "bob", "beta": "hadoop/beta"}
#: Hadoop's clients try again for a quarter of a minute, those of YARN for a quarter of an hour
IMPATIENT = {
    "core-site": {
        "ipc.client.connect.max.retries.on.sasl": "0",
        "hadoop.security.auth_to_local": "RULE:[1:$1] RULE:[2:$1]",
    },
    "yarn-site": {"yarn.resourcemanager.connect.max-wait.ms": "1000"},
}
#: asks each URL with a ticket of a principal, and prints the HTTP status of each
ASK = f"""
import sys
from pathlib import Path
import requests, urllib3
from fawkes.live.kerberos.keytab import Principal
from fawkes.live.kerberos.tickets import Tickets, use_krb5_conf
urllib3.disable_warnings()
conf, name, keytab, *urls = sys.argv[1:]
use_krb5_conf(Path(conf))
tickets = Tickets(Principal(name, {REALM!r}), Path(keytab))
for url in urls:
    proof = tickets.proof(Principal("HTTP/alpha", {REALM!r})) if name != "nobody" else ""
    headers = {{"Authorization": f"Negotiate {{proof}}"}} if proof else {{}}
    print(requests.get(url, headers=headers, verify=False, allow_redirects=False, timeout=20).status_code)
"""


@dataclass
class Realm:
    """A site whose MR-cluster ``alpha`` wants tickets, and people with keytabs of their own."""

    site: RealSite
    kdc: Kdc
    release: Release

    def keytab(self, who: str) -> Path:
        return self.site.root / f"{who}.keytab"

    def master(self) -> str:
        return self.site.hosts[str(self.site.ledger.clusters["alpha"].master)]

    def client(self, who: str, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        """One of Hadoop's commands outside of the MR-cluster, with somebody's ticket; ``nobody`` has none."""
        conf = self._configuration()
        java = find_java(LocalShell(env=os.environ), "this machine", self.release).home
        argv = self.release.daemon_argv(
            program,
            java_home=java,
            conf_dir=str(conf),
            heap_mb=256,
            extra=["-XX:TieredStopAtLevel=1", f"-Djava.security.krb5.conf={self.kdc.krb5_conf}"],
        )
        env = {"PATH": os.environ["PATH"], **self.release.environment(java, str(conf))}
        if who in PEOPLE:
            env |= {"KRB5PRINCIPAL": f"{PEOPLE[who]}@{REALM}", "KRB5KEYTAB": str(self.keytab(who))}
        return self.site.lab.exec([*argv, *words], env=env, timeout_s=LIMIT_S)

    def _configuration(self) -> Path:
        """The configuration by `fawkes env`, for clients that map every principal and soon give up."""
        conf = self.site.root / "believing"
        if not conf.exists():
            self.site.fawkes("env", "alpha")
            shutil.copytree(self.site.root / "state/env/alpha", conf)
            for name, values in IMPATIENT.items():
                _override(conf / f"{name}.xml", values)
        return conf

    def check(self) -> subprocess.CompletedProcess[str]:
        """`fawkes check` on the controller's machine, whose network the KDC is in."""
        return self.site.lab.exec([*FAWKES, "--site", str(self.site.root), "check"], cwd=PROJECT, timeout_s=LIMIT_S)

    def ask(self, who: str, *urls: str) -> list[int]:
        """The HTTP status of each URL for somebody's ticket."""
        words = [sys.executable, "-c", ASK, str(self.kdc.krb5_conf), PEOPLE.get(who, who), str(self.keytab(who)), *urls]
        return [int(line) for line in self.site.lab.exec(words, check=True, timeout_s=LIMIT_S).stdout.split()]


def _override(file: Path, values: Mapping[str, str]) -> None:
    """A client that maps all principals to some name: then it is the server that refuses."""
    tree = ET.parse(file)
    for key, value in values.items():
        row = ET.SubElement(tree.getroot(), "property")
        ET.SubElement(row, "name").text = key
        ET.SubElement(row, "value").text = value
    tree.write(file)


@contextmanager
def realm_site(folder: Path, hosts: int, settings: str, version: str) -> Iterator[Realm]:
    """A lab, its KDC and a site with input for ``alpha``; all of it ends with the block. No controller runs yet."""
    with (
        real_site(folder, hosts, settings + SITE_TABLE) as site,
        serving_realm(folder, ["alpha"], site.lab.popen) as kdc,
    ):
        kdc.principals(*PEOPLE.values())
        made = Realm(site, kdc, cache.get(PINS[version]).release)
        for who, principal in PEOPLE.items():
            kdc.keytab(made.keytab(who), principal)
        site.write("clusters/words/part.txt", "word\n" * WORDS)
        site.logins["alpha"] = {
            "keytab": str(folder / "keytabs/alpha.keytab"),
            "krb5_conf": str(kdc.krb5_conf),
            "realm": REALM,
            "tls": str(site.site.state_dir / "tls"),
        }
        yield made
