"""Labs with more than one network: jump hosts, a network for data, two sites."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pytest

from fawkes.base.errors import UserError
from fawkes.live.lab import Lab, LabSpec, up
from tests.live.lab.conftest import SMALL
from tests.live.lab.support import fawkes, on_host, output_of
from tests.support.waiting import wait_for

pytestmark = pytest.mark.lab

_RATES = (
    "import pyroute2, json; n = pyroute2.IPRoute();"
    "names = {link['index']: link.get_attr('IFLA_IFNAME') for link in n.get_links()};"
    "print(json.dumps({names[q['index']]: q.get_nested('TCA_OPTIONS', 'TCA_TBF_PARMS')['rate']"
    " for q in n.get_qdiscs() if q.get_attr('TCA_KIND') == 'tbf'}))"
)


@pytest.fixture(scope="module")
def meshed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Two hosts with all of it: behind a jump host, on two sites, with a network for data."""
    site = tmp_path_factory.mktemp("meshed") / "lab"
    spec = LabSpec(
        hosts=2,
        site=site,
        nodemanager_memory_bytes=SMALL,
        jump_hosts=1,
        data_network="open",
        sites=2,
        link_rate_bytes=3_000_000,
    )
    with up(spec) as lab:
        yield lab


def _reaches(lab: Lab, host: str, address: str) -> bool:
    """True if an SSH server greets within two seconds; on a busy machine even one that is reached may need longer."""
    probe = f"timeout 2 bash -c 'exec 3<>/dev/tcp/{address}/22 && head -c 7 <&3'"
    if host == "controller":
        return lab.exec(["sh", "-c", probe]).stdout == "SSH-2.0"
    return on_host(lab, host, probe).stdout == "SSH-2.0"


def test_hosts_behind_a_jump_host_are_reached_through_it_alone(meshed: Lab) -> None:
    assert not _reaches(meshed, "controller", "node01")
    assert output_of(meshed, "node01", "hostname; getent hosts node02 login | cut -d ' ' -f 1").split() == [
        "node01",
        "10.99.1.2",
        "10.98.0.2",
    ]
    assert not _reaches(meshed, "node01", "controller")
    meshed.kill("login")
    assert on_host(meshed, "node01", "true", connect_s=1).returncode == 255
    meshed.start("login")
    assert output_of(meshed, "node01", "hostname") == "node01"


def test_a_jump_host_is_cut_off_like_a_host(meshed: Lab) -> None:
    meshed.cut("login")
    assert on_host(meshed, "node01", "true", connect_s=1).returncode == 255
    meshed.mend("login")
    assert output_of(meshed, "login", "hostname") == "login"


def test_each_host_has_a_second_address_for_data(meshed: Lab) -> None:
    assert output_of(meshed, "node02", "getent hosts node01-data | cut -d ' ' -f 1") == "10.77.1.1"
    wait_for(lambda: _reaches(meshed, "node02", "node01-data"), "node01-data")
    wait_for(lambda: _reaches(meshed, "login", "node01-data"), "node01-data")
    assert not _reaches(meshed, "controller", "node01-data")


@pytest.mark.nightly
def test_the_link_between_sites_is_limited_and_can_be_cut(meshed: Lab) -> None:
    rates = json.loads(meshed.exec([sys.executable, "-c", _RATES], check=True).stdout)
    assert rates == dict.fromkeys(["lab1-lab1b", "lab1b-lab1", "data-datab", "datab-data"], 3_000_000)
    done = fawkes("lab", "cut", "link", "--site", meshed.site)
    assert done.stdout == "link: on, network cut\n", done.stderr
    assert not _reaches(meshed, "node01", "node02")
    assert [row.network for row in meshed.status()] == ["ok", "ok", "ok", "cut"]
    meshed.mend("link")
    wait_for(lambda: _reaches(meshed, "node01", "node02"), "node02")


def test_a_host_that_is_not_there_is_told_with_those_that_are(meshed: Lab) -> None:
    with pytest.raises(UserError, match=r"no host 'node03'.*node\[01-02\] and login"):
        meshed.kill("node03")
    with pytest.raises(UserError, match="no host 'link'"):
        meshed.kill("link")


@pytest.mark.nightly
def test_two_jump_hosts_stand_one_behind_the_other(tmp_path_factory: pytest.TempPathFactory) -> None:
    site = tmp_path_factory.mktemp("far") / "lab"
    with up(LabSpec(hosts=1, site=site, nodemanager_memory_bytes=SMALL, jump_hosts=2, data_network="closed")) as far:
        assert output_of(far, "node01", "hostname") == "node01"
        assert not _reaches(far, "login", "node01")
        assert not _reaches(far, "login2", "node01-data")
