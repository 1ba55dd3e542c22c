"""Placement of tasks by traffic, with a cap on CPU (K28)."""

from __future__ import annotations

import pytest

from fawkes.offline.studies.streams.placement import Channel, Topology, Worker, by_channel, place, round_robin

WORKERS = [Worker(f"w{node}{at}", f"n{node}", 2, 4.0) for node in range(3) for at in range(2)]
CORES = {f"n{node}": 8.0 for node in range(3)}
HEAVY = Topology({"a": (1, 1.0), "b": (1, 1.0), "c": (1, 1.0), "d": (1, 1.0)}, {("a", "d"): 900, ("b", "c"): 10})


def test_tasks_with_heavy_traffic_share_a_process() -> None:
    placed = place(HEAVY, WORKERS, CORES)
    assert placed["a-0"] == placed["d-0"]
    assert by_channel(HEAVY, placed) == {Channel.PROCESS: 910, Channel.NODE: 0, Channel.NETWORK: 0}


def test_without_slots_in_one_process_they_share_a_node() -> None:
    single = [Worker(each.name, each.node, 1, 4.0) for each in WORKERS]
    assert by_channel(HEAVY, place(HEAVY, single, CORES))[Channel.NODE] >= 900


def test_placement_by_traffic_uses_the_network_less_than_round_robin() -> None:
    sizes = {"source": (2, 0.5), "parse": (4, 0.5), "join": (4, 0.5), "sink": (2, 0.5)}
    chain = Topology(sizes, {("source", "parse"): 1000, ("parse", "join"): 800, ("join", "sink"): 100})
    ours, theirs = (by_channel(chain, placed) for placed in (place(chain, WORKERS, CORES), round_robin(chain, WORKERS)))
    assert ours[Channel.NETWORK] < theirs[Channel.NETWORK]
    assert sum(ours.values()) == pytest.approx(sum(theirs.values())) == pytest.approx(1900)


@pytest.mark.parametrize(("task_cores", "nodes"), [(1.8, 1), (1.9, 2), (3.6, 2)])
def test_the_cap_keeps_workers_and_nodes_from_over_saturation(task_cores: float, nodes: int) -> None:
    chain = Topology({"a": (1, task_cores), "b": (1, task_cores), "c": (1, task_cores)}, {("a", "b"): 9, ("b", "c"): 9})
    placed = place(chain, WORKERS, CORES)
    for worker in WORKERS:
        assert sum(task_cores for each in placed.values() if each == worker) <= 0.9 * worker.cores
    for node, cores in CORES.items():
        assert sum(task_cores for each in placed.values() if each.node == node) <= 0.9 * cores
    assert len({each.node for each in placed.values()}) == nodes


def test_workers_that_promise_more_than_their_node_has_do_not_over_saturate_it() -> None:
    pair = Topology({"a": (1, 3.0), "b": (1, 3.0)}, {("a", "b"): 9})
    assert len({each.node for each in place(pair, WORKERS, dict.fromkeys(CORES, 4.0)).values()}) == 2


def test_a_task_without_room_is_named() -> None:
    with pytest.raises(ValueError, match=r"3\.7 cores below 90% for big-0"):
        place(Topology({"big": (1, 3.7)}, {}), WORKERS, CORES)
    with pytest.raises(ValueError, match="13 tasks do not fit"):
        round_robin(Topology({"small": (13, 0.1)}, {}), WORKERS)


def test_a_cycle_and_unknown_operators_are_named() -> None:
    sizes = {"a": (1, 1.0), "b": (1, 1.0)}
    with pytest.raises(ValueError, match=r"cycle: (a -> b -> a|b -> a -> b)"):
        Topology(sizes, {("a", "b"): 1, ("b", "a"): 1})
    with pytest.raises(ValueError, match="do not exist: c"):
        Topology(sizes, {("a", "c"): 1})
