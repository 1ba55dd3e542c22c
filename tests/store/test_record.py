"""Values of the core survive the way through plain data, and everything else is refused by name."""

from __future__ import annotations

import dataclasses
import enum
import itertools
import json
import math
import sys
import types
import typing
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.base.errors import BrokenError
from fawkes.core.state.state import NO_TICK
from fawkes.core.streams.values import Thresholds
from fawkes.core.values.decision import CHANGES, Decision, DropPending, PutPending, PutTick
from fawkes.core.values.effects import EFFECTS, WakeAt
from fawkes.core.values.events import EVENTS, Condition, Event, NodeObserved, Sampled, Submitted, Woke
from fawkes.core.values.model import ClusterId, JobId, JobSpec, Node, NodeId, NodeState, Reading, Reason, Role
from fawkes.core.values.settings import Settings
from fawkes.store.record import (
    RecordError,
    change_of,
    coder,
    decision_of,
    event_of,
    from_plain,
    loads,
    text_of,
    to_plain,
)

CLASSES = (*EVENTS, *EFFECTS, *CHANGES, Decision)

_scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_plain = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
_BY_CLASS: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(),
    bool: st.booleans(),
    str: st.text(max_size=8),
    float: st.floats(allow_nan=False, allow_infinity=False),
    type(None): st.none(),
    object: _plain,
    Thresholds: st.builds(
        Thresholds,
        cpu=st.floats(0.6, 1.0),
        memory=st.none() | st.floats(0.6, 1.0),
        idle=st.floats(0.1, 0.5),
        lasting_s=st.floats(0, 10),
        monitoring_s=st.floats(10, 1e6),
        least_workers=st.integers(1, 9),
    ),
}


def values(form: Any) -> st.SearchStrategy[Any]:
    """Any value of an annotation: every field drawn, none left at its default."""
    form = getattr(form, "__supertype__", form)
    if form in _BY_CLASS:
        return _BY_CLASS[form]
    given = typing.get_args(form)
    if isinstance(form, types.UnionType) or typing.get_origin(form) is typing.Union:
        return st.one_of([values(each) for each in given])
    if typing.get_origin(form) is tuple:
        return st.lists(values(given[0]), max_size=3).map(tuple)
    if typing.get_origin(form) is not None and issubclass(typing.get_origin(form), Mapping):
        return st.dictionaries(values(given[0]), values(given[1]), max_size=3)
    if isinstance(form, type) and issubclass(form, enum.Enum):
        return st.sampled_from(sorted(form, key=str))
    hints = typing.get_type_hints(form)
    parts = {each.name: values(hints[each.name]) for each in dataclasses.fields(form)}
    return st.builds(form, **parts)


@pytest.mark.slow
@pytest.mark.parametrize("form", CLASSES, ids=lambda form: form.__name__)
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_round_trip(form: type, data: st.DataObject) -> None:
    value = data.draw(values(form))
    text = text_of(value)
    back: object = from_plain(form, loads(text))
    assert back == value
    assert text_of(back) == text


@pytest.mark.slow
@pytest.mark.parametrize("form", [Node, NodeState, Settings, Reading, JobSpec], ids=lambda form: form.__name__)
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_round_trip_outside_of_unions(form: type, data: st.DataObject) -> None:
    value = data.draw(values(form))
    plain = loads(text_of(value))
    assert isinstance(plain, dict)
    assert "kind" not in plain
    assert from_plain(form, plain) == value


def test_members_of_unions_are_tagged() -> None:
    decision = Decision(changes=(DropPending("wake"),), effects=(WakeAt(7),), reasons=(Reason("tick"),))
    assert to_plain(decision) == {
        "changes": [{"kind": "DropPending", "key": "wake"}],
        "effects": [{"kind": "WakeAt", "at_us": 7}],
        "reasons": [{"code": "tick"}],
    }
    assert decision_of(to_plain(decision)) == decision
    assert event_of({"kind": "Woke", "at_us": 3}) == Woke(at_us=3)
    assert change_of({"kind": "DropPending", "key": "x"}) == DropPending("x")


def test_an_optional_union_inside_a_change_is_tagged() -> None:
    change = PutPending("wake", 1, 9, effect=WakeAt(7))
    plain = to_plain(change)
    assert isinstance(plain, dict)
    assert plain["effect"] == {"kind": "WakeAt", "at_us": 7}
    assert from_plain(PutPending, plain) == change


def test_zero_is_not_missing() -> None:
    reading = Reading(cluster=ClusterId("a"), jobs_waiting=0, slots_used=None)
    plain = to_plain(reading)
    assert plain == {"cluster": "a", "jobs_waiting": 0}
    assert from_plain(Reading, plain) == reading


def test_only_empty_defaults_are_left_out() -> None:
    # A default that is a choice (a period, a policy) may change in a later version: the past must not change with it.
    written = to_plain(Settings())
    assert isinstance(written, dict)
    chosen = {
        each.name for each in dataclasses.fields(Settings) if each.default not in (None, False, "", dataclasses.MISSING)
    }
    assert chosen <= written.keys()
    assert "policy_parameters" not in written


def test_numbers_keep_their_kind() -> None:
    for kept in ({"n": 3}, {"n": 3.0}):
        read = from_plain(Settings, to_plain(Settings(policy_parameters=kept)))
        assert repr(read.policy_parameters) == repr(kept)
    tick = dataclasses.replace(NO_TICK, weights={ClusterId("a"): 1})
    assert text_of(tick) == text_of(from_plain(PutTick, to_plain(tick)))
    assert '"weights":{"a":1.0}' in text_of(tick)
    reason = Reason("x", {"whole": 1, "real": 1.0})
    assert text_of(reason) == '{"code":"x","facts":{"real":1.0,"whole":1}}'


def test_facts_take_enums_and_tuples_as_their_values() -> None:
    reason = Reason("x", {"role": Role.CORE, "nodes": (NodeId("n1"), NodeId("n2")), "deep": {"c": [Role.TRANSIENT]}})
    text = text_of(reason)
    assert json.loads(text)["facts"] == {"role": "core", "nodes": ["n1", "n2"], "deep": {"c": ["transient"]}}


def test_text_is_the_same_for_every_order_of_keys() -> None:
    texts = {
        text_of(Reason("x", dict(order)))
        for order in itertools.permutations([("b", 1), ("a", {"z": 1, "y": 2}), ("ü", 3)])
    }
    assert texts == {'{"code":"x","facts":{"a":{"y":2,"z":1},"b":1,"ü":3}}'}


def test_only_short_texts_are_kept() -> None:
    """A controller writes readings of large pools and snapshots for years."""
    short, long_ = Reason("x", {"y": "z" * 100}), Reason("x", {"y": "z" * 5000})
    before = sys.getrefcount(short), sys.getrefcount(long_)
    assert [text_of(short), text_of(long_)] == [text_of(short), text_of(long_)]
    assert (sys.getrefcount(short), sys.getrefcount(long_)) == (before[0] + 1, before[1])


def test_bytes_that_were_no_text_can_be_stored() -> None:
    error = b"caf\xe9 broke".decode("utf-8", "surrogateescape")
    seen = NodeObserved(at_us=1, node=NodeId("n"), generation=1, condition=Condition.FAILED, error=error)
    text = text_of(seen)
    assert text.encode("utf-8")
    assert event_of(loads(text)) == dataclasses.replace(seen, error="caf? broke")


BAD_VALUES = [
    (Reason("x", {"y": math.nan}), "facts[y]", "is nan, not a finite number"),
    (Reason("x", {"y": {"z": [math.inf]}}), "facts[y][z][0]", "is inf, not a finite number"),
    (Reason("x", {"y": {1, 2}}), "facts[y]", "is {1, 2}, not plain data"),
    (Reason("x", {"y": b"raw"}), "facts[y]", "is b'raw', not plain data"),
    (Reason("x", typing.cast(Any, {1: 2})), "facts[1]", "is 1, not a string"),
    (Woke(at_us=typing.cast(Any, 1.5)), "at_us", "is 1.5, not a whole number"),
    (Woke(at_us=True), "at_us", "is True, not a whole number"),
    (
        Sampled(at_us=1, readings=(Reading(cluster=ClusterId("a")), Reading(cluster=typing.cast(Any, 7)))),
        "readings[1].cluster",
        "is 7, not a string",
    ),
    (
        Sampled(at_us=1, readings=(Reading(cluster=ClusterId("a"), node_bytes={NodeId("n1"): typing.cast(Any, "2")}),)),
        "readings[0].node_bytes[n1]",
        "is '2', not a whole number",
    ),
    (
        Decision(changes=typing.cast(Any, (WakeAt(1),))),
        "changes[0]",
        f"is WakeAt(at_us=1), not one of {', '.join(sorted(each.__name__ for each in CHANGES))}",
    ),
    (Decision(changes=typing.cast(Any, {DropPending("x")})), "changes", "not a tuple"),
]


@pytest.mark.parametrize(("value", "where", "what"), BAD_VALUES, ids=lambda each: each if isinstance(each, str) else "")
def test_a_value_that_nobody_could_read_back_is_refused(value: object, where: str, what: str) -> None:
    with pytest.raises(RecordError) as caught:
        to_plain(value)
    assert caught.value.where.replace("'", "") == where
    assert what in caught.value.what
    assert isinstance(caught.value, BrokenError)


BAD_RECORDS: list[tuple[Any, str, str]] = [
    ({"kind": "Exploded", "at_us": 1}, "", "has the unknown kind 'Exploded': known are AttemptSeen, Can"),
    ({"at_us": 1}, "", "has the unknown kind None"),
    ({"kind": ["Woke"], "at_us": 1}, "", "has the unknown kind ['Woke']"),
    ([1], "", "is [1], not a record"),
    ({"kind": "Woke"}, "Woke", "Woke lacks the field 'at_us'"),
    ({"kind": "Woke", "at_us": 1, "by": "me"}, "Woke", "Woke has the unknown field 'by'"),
    ({"kind": "Woke", "by": "me"}, "Woke", "Woke lacks the field 'at_us' and has the unknown field 'by'"),
    ({"kind": "Woke", "at_us": "1"}, "Woke.at_us", "is '1', not a whole number"),
    ({"kind": "Sampled", "at_us": 1, "readings": {}}, "Sampled.readings", "is {}, not a list"),
    ({"kind": "Sampled", "at_us": 1, "readings": [7]}, "Sampled.readings[0]", "is 7, not the fields of a Reading"),
    (
        {"kind": "Sampled", "at_us": 1, "readings": [{"cluster": "a"}, {"cluster": "b", "node_bytes": {"n": None}}]},
        "Sampled.readings[1].node_bytes['n']",
        "is None, not a whole number",
    ),
    (
        {"kind": "NodeObserved", "at_us": 1, "node": "n", "generation": 1, "condition": "tired"},
        "NodeObserved.condition",
        "is 'tired', not one of serving, drained, evacuated",
    ),
]


@pytest.mark.parametrize(
    ("plain", "where", "what"), BAD_RECORDS, ids=lambda each: each if isinstance(each, str) else ""
)
def test_a_record_that_does_not_fit_is_refused_by_name(plain: Any, where: str, what: str) -> None:
    with pytest.raises(RecordError) as caught:
        event_of(plain)
    assert (caught.value.where, what in caught.value.what) == (where, True), caught.value.what


def test_another_kind_of_the_same_union_is_not_what_was_asked_for() -> None:
    with pytest.raises(RecordError, match="is a Woke, not a Submitted"):
        from_plain(Submitted, {"kind": "Woke", "at_us": 1})


def test_text_that_is_no_json_is_refused() -> None:
    with pytest.raises(RecordError, match="is not JSON: Expecting value"):
        loads('{"a":')


def test_types_without_plain_data_are_refused() -> None:
    for form in (set, tuple[int, str], list[int], int | Woke):
        with pytest.raises(RecordError, match="no plain data for the type"):
            coder(form)


def test_a_field_must_not_be_called_like_the_tag() -> None:
    @dataclasses.dataclass(frozen=True)
    class Kinded:
        kind: str

    with pytest.raises(RecordError, match="Kinded has a field 'kind'"):
        coder(Kinded)


def test_scalars_in_a_union_keep_their_class() -> None:
    both = coder(int | str)
    assert [both.write(1), both.decode("a")] == ["1", "a"]
    with pytest.raises(RecordError, match=r"is 1\.5, not int or str"):
        both.write(1.5)


def test_known_texts_stay_readable() -> None:
    """Texts of version 1. Never edit a line: add new ones, and a migration when one of these cannot be read."""
    job = JobSpec(id=JobId("a-1"), cluster=ClusterId("a"), tasks=12, tasks_estimated=False, details={"jar": "x.jar"})
    known: list[tuple[str, Event]] = [
        ('{"at_us":5,"kind":"Woke"}', Woke(at_us=5)),
        (
            '{"at_us":5,"by":"ann","kind":"Submitted","spec":{"cluster":"a","details":{"jar":"x.jar"},"id":"a-1",'
            '"tasks":12,"tasks_estimated":false}}',
            Submitted(at_us=5, spec=job, by="ann"),
        ),
        (
            '{"at_us":5,"condition":"lost","error":"no route","generation":3,"kind":"NodeObserved","node":"n1"}',
            NodeObserved(at_us=5, node=NodeId("n1"), generation=3, condition=Condition.LOST, error="no route"),
        ),
    ]
    for text, event in known:
        assert event_of(loads(text)) == event
        assert text_of(event) == text
