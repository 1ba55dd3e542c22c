"""Faults of a site's Kerberos are reported before any node is touched; tickets are of a real KDC."""

from __future__ import annotations

import base64
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gssapi", reason="`make ready` installs it")

import gssapi

from fawkes.base.errors import ConfigError, SiteError, UserError
from fawkes.config.clusters.details import KERBEROS, ClusterDetails
from fawkes.config.settings.kerberos import KerberosSite
from fawkes.core.values.model import ClusterId
from fawkes.live.base import limits
from fawkes.live.kerberos.certificates import Certificates
from fawkes.live.kerberos.hadoop_kerberos import Secured
from fawkes.live.kerberos.kerberos import Kerberos, check_files, read_keytab
from fawkes.live.kerberos.keytab import Principal, TicketError
from fawkes.live.kerberos.tickets import Tickets, use_krb5_conf
from tests.support.kdc import REALM, Kdc
from tests.support.waiting import wait_for

# It needs the packages of a KDC, which `make ready` installs.
pytestmark = pytest.mark.slow

ALPHA = ClusterId("alpha")
DETAILS = ClusterDetails(security=KERBEROS, kerberos_users=("alice",))
OWN = Principal("hadoop/alpha", REALM)
WEB = Principal("HTTP/alpha", REALM)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture(scope="module")
def kdc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    realm = Kdc(tmp_path_factory.mktemp("realm") / "kdc", "127.0.0.1", free_port())
    realm.make()
    realm.principals(OWN.name, WEB.name, "hadoop/late", "HTTP/late")
    with realm.serving():
        use_krb5_conf(realm.krb5_conf)
        yield realm


@pytest.fixture
def site(kdc: Kdc, tmp_path: Path) -> KerberosSite:
    kdc.keytab(tmp_path / "keytabs/alpha.keytab", OWN.name, WEB.name)
    return KerberosSite(str(tmp_path / "fawkes.toml"), REALM, kdc.krb5_conf, tmp_path / "keytabs")


def checked(site: KerberosSite | None, tmp_path: Path, cluster: ClusterId = ALPHA) -> None:
    Kerberos(site, tmp_path / "tls").check(cluster, DETAILS)


def test_a_site_with_all_that_is_needed_passes(site: KerberosSite, tmp_path: Path) -> None:
    checked(site, tmp_path)


def test_without_a_realm_the_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"fawkes.toml: kerberos: alpha has security = 'kerberos'.*\[kerberos\]"):
        checked(None, tmp_path)


def test_a_wrong_realm_is_told_with_the_one_that_the_keytab_has(site: KerberosSite, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"kerberos.realm: .*is of the realm {REALM}, not of OTHER.ORG"):
        checked(replace(site, realm="OTHER.ORG"), tmp_path)


def test_a_missing_keytab_is_told_with_the_command_that_makes_it(site: KerberosSite, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"beta.keytab.*kadmin ktadd.*HTTP/beta@{REALM} hadoop/beta@{REALM}"):
        checked(site, tmp_path, ClusterId("beta"))


def test_a_keytab_without_a_principal_names_it(site: KerberosSite, kdc: Kdc, tmp_path: Path) -> None:
    (site.keytabs / "alpha.keytab").unlink()
    kdc.keytab(site.keytabs / "alpha.keytab", OWN.name)
    with pytest.raises(UserError, match=rf"alpha.keytab: the keytab has no key of {WEB}"):
        checked(site, tmp_path)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_keytab_that_others_can_read_is_refused(site: KerberosSite, tmp_path: Path, mode: int) -> None:
    (site.keytabs / "alpha.keytab").chmod(mode)
    with pytest.raises(UserError, match=r"alpha.keytab: other users can read this keytab. Run `chmod 600"):
        checked(site, tmp_path)


def test_a_missing_krb5_conf_is_told(site: KerberosSite, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"krb5\.missing.*kerberos\.krb5_conf"):
        checked(replace(site, krb5_conf=tmp_path / "krb5.missing"), tmp_path)


def test_a_principal_that_has_expired_is_told_with_what_to_do(site: KerberosSite, kdc: Kdc, tmp_path: Path) -> None:
    kdc.keytab(site.keytabs / "late.keytab", "hadoop/late", "HTTP/late")
    kdc.admin("modprinc", "-expire", "2020-01-01 00:00:00 UTC", "hadoop/late")
    with pytest.raises(TicketError, match=r"late.keytab: .*expired.*kadmin modprinc -expire"):
        checked(site, tmp_path, ClusterId("late"))


def test_a_user_who_would_be_the_superuser_is_refused(site: KerberosSite, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="kerberos_users: 'alice' is the user of the daemons"):
        Kerberos(site, tmp_path / "tls", lambda: ["hadoop", "alice"]).check(ALPHA, DETAILS)


def test_files_are_checked_and_those_without_kerberos_are_not(site: KerberosSite, tmp_path: Path) -> None:
    alpha, plain, beta = (tmp_path / f"{name}.toml" for name in ("alpha", "plain", "beta"))
    alpha.write_text('security = "kerberos"\nkerberos_users = ["alice"]\n')
    plain.write_text("min_nodes = 1\n")
    beta.write_text('security = "kerberos"\n')
    assert check_files(site, [alpha, plain], ["hadoop"]) == [f"alpha: the KDC gives tickets to {OWN}"]
    with pytest.raises(UserError, match=r"beta\.keytab"):
        check_files(site, [alpha, beta], ["hadoop"])
    with pytest.raises(UserError, match="kerberos_users: 'alice'"):
        check_files(site, [alpha], ["alice"])


def test_the_user_of_the_daemons_is_the_one_that_the_mr_cluster_runs_as(site: KerberosSite, tmp_path: Path) -> None:
    details = replace(DETAILS, run_as="alice")
    with pytest.raises(UserError, match="kerberos_users: 'alice' is the user of the daemons"):
        Kerberos(site, tmp_path / "tls", lambda: ["hadoop"]).check(ALPHA, details)
    Kerberos(site, tmp_path / "tls", lambda: ["alice"]).check(ALPHA, replace(DETAILS, run_as="alpha"))


def test_a_keytab_is_read_whole(site: KerberosSite) -> None:
    read = read_keytab(site, Secured(realm=REALM, cluster="alpha"))
    assert read == (site.keytabs / "alpha.keytab").read_bytes()


def acceptor(site: KerberosSite) -> gssapi.SecurityContext:
    store = {"keytab": str(site.keytabs / "alpha.keytab")}
    return gssapi.SecurityContext(creds=gssapi.Credentials(usage="accept", store=store), usage="accept")


def test_each_request_has_a_proof_of_its_own_that_a_server_accepts(site: KerberosSite) -> None:
    tickets = Tickets(OWN, site.keytabs / "alpha.keytab")
    proofs = [tickets.proof(WEB) for _ in range(2)]
    assert proofs[0] != proofs[1]
    for proof in proofs:
        server = acceptor(site)
        server.step(base64.b64decode(proof))
        assert str(server.initiator_name) == str(OWN)


def test_sasl_takes_the_strongest_protection_that_the_server_offers(site: KerberosSite) -> None:
    session, server = Tickets(OWN, site.keytabs / "alpha.keytab").session(OWN), acceptor(site)
    assert session.answer(server.step(session.begin()) or b"") == b""
    choice = session.answer(server.wrap(b"\x07\x00\xff\xff", False).message)
    assert server.unwrap(choice).message[0] == 4
    assert session.wraps
    assert server.unwrap(session.wrap(b"refresh")).message == b"refresh"
    assert session.unwrap(server.wrap(b"done", True).message) == b"done"


def test_a_changed_answer_is_an_error(site: KerberosSite) -> None:
    session, server = Tickets(OWN, site.keytabs / "alpha.keytab").session(OWN), acceptor(site)
    session.answer(server.step(session.begin()) or b"")
    session.answer(server.wrap(b"\x04\x00\xff\xff", False).message)
    message = bytearray(server.wrap(b"done", True).message)
    message[-1] ^= 1
    with pytest.raises(TicketError, match="cannot be decrypted"):
        session.unwrap(bytes(message))


def test_a_server_that_the_realm_does_not_know_gets_no_proof(site: KerberosSite) -> None:
    with pytest.raises(TicketError, match="not found in Kerberos database"):
        Tickets(OWN, site.keytabs / "alpha.keytab").proof(Principal("HTTP/gamma", REALM))


def test_certificates_are_kept_and_go_with_their_mr_cluster(tmp_path: Path) -> None:
    first = Certificates(tmp_path / "tls").of(ALPHA)
    again = Certificates(tmp_path / "tls")
    assert again.of(ALPHA) == first
    assert again.of(ClusterId("beta")).fingerprint != first.fingerprint
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "tls").iterdir()} == {0o600}
    again.keep([ClusterId("beta")])
    assert [path.name for path in (tmp_path / "tls").iterdir()] == ["beta.p12"]


def test_the_next_mr_cluster_of_a_name_is_not_met_with_the_old_ones_key_and_certificate(
    site: KerberosSite, tmp_path: Path
) -> None:
    kerberos = Kerberos(site, tmp_path / "tls")
    first = kerberos.login(ALPHA, DETAILS, "first")
    assert kerberos.login(ALPHA, DETAILS, "first") is first
    kerberos.keep([])
    second = kerberos.login(ALPHA, DETAILS, "first")
    assert first is not None
    assert second is not None
    assert first.fingerprint != second.fingerprint
    third = kerberos.login(ALPHA, DETAILS, "third")
    assert third is not None
    assert third.key == "third"


def store_of(site: KerberosSite, name: str) -> dict[str, str]:
    return {"client_keytab": f"FILE:{site.keytabs / name}.keytab", "ccache": f"MEMORY:test-{name}"}


def has_run_out(credentials: gssapi.Credentials) -> bool:
    try:
        return bool(credentials.lifetime <= 0)
    except gssapi.exceptions.ExpiredCredentialsError:
        return True


def test_a_ticket_that_has_run_out_is_replaced(site: KerberosSite, kdc: Kdc) -> None:
    """A ticket runs out in a night without a KDC, or without this machine."""
    kdc.principals("hadoop/brief", options=["-maxlife", "2sec"])
    kdc.keytab(site.keytabs / "brief.keytab", "hadoop/brief")
    tickets = Tickets(Principal("hadoop/brief", REALM), site.keytabs / "brief.keytab")
    tickets.check()
    later = gssapi.Credentials(usage="initiate", store=store_of(site, "brief"))
    while not has_run_out(later):
        pass
    tickets.proof(WEB)


def test_one_ticket_serves_many_requests_however_short_its_life_is(site: KerberosSite, kdc: Kdc) -> None:
    kdc.principals("hadoop/short", options=["-maxlife", "5min"])
    kdc.keytab(site.keytabs / "short.keytab", "hadoop/short")
    tickets = Tickets(Principal("hadoop/short", REALM), site.keytabs / "short.keytab")
    tickets.proof(WEB)
    issued = (kdc.folder / "kdc.log").read_text().count("AS_REQ")
    for _ in range(3):
        tickets.proof(WEB)
    assert (kdc.folder / "kdc.log").read_text().count("AS_REQ") == issued


def test_a_keytab_that_becomes_unusable_later_is_a_lack_of_the_site(site: KerberosSite, tmp_path: Path) -> None:
    """Not a word about the node that was to get it, and no end of an MR-cluster as for a wrong file."""
    kerberos = Kerberos(site, tmp_path / "tls")
    kerberos.files(ALPHA, DETAILS)
    (site.keytabs / "alpha.keytab").chmod(0o644)
    with pytest.raises(SiteError, match=r"alpha.keytab: other users can read this keytab\. Run `chmod 600"):
        kerberos.files(ALPHA, DETAILS)


def test_nobody_waits_for_a_kdc_that_hangs_while_the_ticket_is_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked by one thread at a time, and not again at once."""
    hanging = Kdc(tmp_path / "kdc", address="127.0.0.1", port=free_port())
    hanging.make()
    hanging.principals("hadoop/alpha", "HTTP/alpha", options=["-maxlife", "5min"])
    keytab = hanging.keytab(tmp_path / "alpha.keytab", "hadoop/alpha", "HTTP/alpha")
    server: list[subprocess.Popen[bytes]] = []

    def begin(*args: Any, **kwargs: Any) -> subprocess.Popen[bytes]:
        server.append(subprocess.Popen(*args, **kwargs))
        return server[-1]

    monkeypatch.setenv("KRB5_CONFIG", str(hanging.krb5_conf))
    monkeypatch.setattr(limits, "TICKET_S", 0.5)
    tickets = Tickets(OWN, keytab)
    with hanging.serving(begin):
        tickets.proof(WEB)
        monkeypatch.setattr(tickets, "_life_s", 10_000.0)
        server[0].send_signal(signal.SIGSTOP)
        try:
            with ThreadPoolExecutor(4) as threads:
                assert all(threads.map(lambda _: tickets.proof(WEB), range(4)))
            asking = [thread for thread in threading.enumerate() if thread.name == "ticket"]
            assert len(asking) == 1
            monkeypatch.setattr(tickets, "_ends_s", 0.0)
            with pytest.raises(TicketError, match=r"alpha.keytab: the KDC did not answer within 0.5 s\. Check"):
                tickets.proof(WEB)
            assert [thread for thread in threading.enumerate() if thread.name == "ticket"] == asking
        finally:
            server[0].send_signal(signal.SIGCONT)


def unread(port: int) -> bool:
    """True if requests to a port of this machine wait for its program."""
    lines = [line.split() for kind in ("udp", "tcp") for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]]
    return any(row[1].endswith(f":{port:04X}") and int(row[4].partition(":")[2], 16) for row in lines)


def test_a_kdc_that_hangs_holds_up_only_who_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other threads go on, and so do requests to servers for which a ticket is there."""
    hanging = Kdc(tmp_path / "kdc", address="127.0.0.1", port=free_port())
    hanging.make()
    hanging.principals(OWN.name, WEB.name)
    tickets = Tickets(OWN, hanging.keytab(tmp_path / "alpha.keytab", OWN.name, WEB.name))
    server: list[subprocess.Popen[bytes]] = []

    def begin(*args: Any, **kwargs: Any) -> subprocess.Popen[bytes]:
        server.append(subprocess.Popen(*args, **kwargs))
        return server[-1]

    monkeypatch.setenv("KRB5_CONFIG", str(hanging.krb5_conf))
    with hanging.serving(begin), ThreadPoolExecutor(1) as threads:
        tickets.proof(WEB)
        server[0].send_signal(signal.SIGSTOP)
        waiting = threads.submit(tickets.session(OWN).begin)
        try:
            wait_for(lambda: unread(hanging.port), "a request that the KDC has not read")
            tickets.proof(WEB)
            tickets.check()
            assert not waiting.done()
        finally:
            server[0].send_signal(signal.SIGCONT)
        waiting.result()


def test_a_ticket_is_used_to_its_end_while_the_kdc_gives_no_new_one(site: KerberosSite, kdc: Kdc) -> None:
    kdc.principals("hadoop/ends", options=["-maxlife", "8sec"])
    kdc.keytab(site.keytabs / "ends.keytab", "hadoop/ends")
    tickets = Tickets(Principal("hadoop/ends", REALM), site.keytabs / "ends.keytab")
    tickets.proof(WEB)
    later = gssapi.Credentials(usage="initiate", store=store_of(site, "ends"))
    (site.keytabs / "ends.keytab").unlink()
    while later.lifetime > 3:
        pass
    tickets.proof(WEB)
    while not has_run_out(later):
        pass
    # The KDC, which was not asked, is not blamed.
    with pytest.raises(TicketError, match=r"ends.keytab: this keytab is not there\. Put it back, or make it with"):
        tickets.proof(WEB)
