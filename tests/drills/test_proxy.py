"""The proxy's changes of answers."""

from __future__ import annotations

import json
from random import Random

from drills.plan import Kind
from drills.proxy import Spell, spoil


def spell(kind: Kind) -> Spell:
    return Spell(kind, 0.0, Random(1))


def test_a_stale_answer_is_the_first_one_of_its_page() -> None:
    stale = spell(Kind.STALE)
    assert spoil(stale, "/jmx", 200, b"old") == (200, b"old")
    assert spoil(stale, "/jmx", 200, b"new") == (200, b"old")
    assert spoil(stale, "/ws/v1/cluster/info", 200, b"other") == (200, b"other")


def test_attributes_are_missing_also_inside_of_strings() -> None:
    body = json.dumps({"beans": [{f"key{n}": n for n in range(60)} | {"LiveNodes": json.dumps({"a": 1, "b": {}})}]})
    seen = set()
    thin = spell(Kind.MISSING)
    for _ in range(20):
        _, spoilt = spoil(thin, "/jmx", 200, body.encode())
        (bean,) = json.loads(spoilt).get("beans", [{}])
        assert len(bean) < 61
        seen.add(bean.get("LiveNodes"))
    assert len(seen) > 2
    assert spoil(thin, "/jmx", 200, b"not JSON") == (200, b"not JSON")


def test_garbage_is_no_answer() -> None:
    garbage = spell(Kind.GARBAGE)
    assert all(spoil(garbage, "/jmx", 503, b'{"beans": []}')[1] != b'{"beans": []}' for _ in range(20))


def test_a_late_answer_is_the_answer() -> None:
    assert spoil(spell(Kind.DELAYED), "/jmx", 200, b"x") == (200, b"x")
