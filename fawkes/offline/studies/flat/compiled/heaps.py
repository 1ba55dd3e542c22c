"""Heaps of jobs whose keys change while they are in it: each job knows its place."""

from __future__ import annotations

from fawkes.offline.studies.flat.jobs import Floats, Ints
from fawkes.sim.hadoop.compiled.flows import compiled


@compiled
def before(keys: Floats, job: int, other: int) -> bool:
    """True if ``job`` comes before ``other``: by key; jobs with equal keys by their submission."""
    return bool(keys[job] < keys[other] or (keys[job] == keys[other] and job < other))


@compiled
def up(heap: Ints, place: Ints, keys: Floats, at: int) -> None:
    """Move the job at a place towards the root, to where its key belongs."""
    job = heap[at]
    while at > 0:
        parent = (at - 1) >> 1
        if not before(keys, job, heap[parent]):
            break
        heap[at] = heap[parent]
        place[heap[at]] = at
        at = parent
    heap[at] = job
    place[job] = at


@compiled
def down(heap: Ints, place: Ints, keys: Floats, size: int, at: int) -> None:
    """Move the job at a place away from the root, to where its key belongs."""
    job = heap[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and before(keys, heap[child + 1], heap[child]):
            child += 1
        if not before(keys, heap[child], job):
            break
        heap[at] = heap[child]
        place[heap[at]] = at
        at = child
    heap[at] = job
    place[job] = at


@compiled
def push(heap: Ints, place: Ints, keys: Floats, size: int, job: int) -> int:
    """Add a job; the new size."""
    heap[size] = job
    up(heap, place, keys, size)
    return size + 1


@compiled
def remove(heap: Ints, place: Ints, keys: Floats, size: int, job: int) -> int:
    """Take a job out, wherever it is; the new size. A job that is not in the heap has the place -1."""
    at = place[job]
    place[job] = -1
    size -= 1
    if at != size:
        moved = heap[size]
        heap[at] = moved
        place[moved] = at
        up(heap, place, keys, at)
        down(heap, place, keys, size, place[moved])
    return size
