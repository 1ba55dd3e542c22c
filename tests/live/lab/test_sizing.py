from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.errors import RefusedError
from fawkes.live.lab.sizing import (
    DAEMONS_OF_HOST_BYTES,
    HOSTS_OF_CLUSTER,
    LEAST_OFFER_BYTES,
    MASTERS_BYTES,
    MOST_OFFER_BYTES,
    SYSTEM_BYTES,
    LabMachine,
    offer,
    this_machine,
)

GB = 1_000_000_000


@pytest.mark.slow
@given(hosts=st.integers(1, 250), memory=st.integers(1 * GB, 512 * GB), cores=st.integers(1, 128))
def test_what_is_promised_fits_beside_the_daemons_or_the_number_that_fits_is_told(
    hosts: int, memory: int, cores: int
) -> None:
    machine = LabMachine(memory, cores)
    try:
        share = offer(hosts, machine, asked_bytes=None, disk_bytes=None)
    except RefusedError as error:
        fits = int(error.what.rsplit(" ", 2)[1])
        assert fits < hosts
        if fits:
            assert offer(fits, machine, asked_bytes=None, disk_bytes=None).memory_bytes >= LEAST_OFFER_BYTES
        return
    daemons = hosts * DAEMONS_OF_HOST_BYTES + max(1, hosts // HOSTS_OF_CLUSTER) * MASTERS_BYTES
    assert hosts * share.memory_bytes + daemons + SYSTEM_BYTES <= memory
    assert LEAST_OFFER_BYTES <= share.memory_bytes <= MOST_OFFER_BYTES
    assert share.cores >= 2


def test_ten_hosts_on_24_gb() -> None:
    share = offer(10, LabMachine(25_276_514_304, 2), asked_bytes=None, disk_bytes=None)
    assert share.memory_bytes == 1_600_000_000


def test_one_host_more_than_fit_is_refused() -> None:
    machine = LabMachine(8 * GB, 2)
    assert offer(5, machine, asked_bytes=None, disk_bytes=None).memory_bytes >= LEAST_OFFER_BYTES
    with pytest.raises(RefusedError, match=r"6 hosts do not fit into 8.0 GB .*: 5 fit. Use --hosts 5"):
        offer(6, machine, asked_bytes=None, disk_bytes=None)


def test_a_disk_in_memory_counts() -> None:
    machine = LabMachine(8 * GB, 2)
    with pytest.raises(RefusedError, match="2 fit"):
        offer(4, machine, asked_bytes=None, disk_bytes=1 * GB)


def test_with_a_size_asked_for_only_the_promises_count() -> None:
    machine = LabMachine(8 * GB, 2)
    assert offer(64, machine, asked_bytes=GB // 10, disk_bytes=None).memory_bytes == GB // 10
    with pytest.raises(RefusedError, match=r"4 hosts do not fit .*: 3 fit"):
        offer(4, machine, asked_bytes=2 * GB, disk_bytes=None)


def test_a_machine_too_small_for_any_host_is_told_so() -> None:
    with pytest.raises(RefusedError, match=r"0 fit\. Give a smaller"):
        offer(1, LabMachine(2 * GB, 1), asked_bytes=None, disk_bytes=None)


def test_many_cores_are_shared_out() -> None:
    assert offer(4, LabMachine(64 * GB, 32), asked_bytes=None, disk_bytes=None).cores == 8


def test_this_machine_has_memory_and_cores() -> None:
    machine = this_machine()
    assert machine.memory_bytes > GB // 10
    assert machine.cores >= 1
