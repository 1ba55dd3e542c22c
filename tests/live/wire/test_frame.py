from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.live.wire.frame import Frame, TooMuchError

MARK = "5f2e"


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(stream) + 1) for place in places} | {len(stream)})
    return [stream[a:b] for a, b in zip([0, *ends], ends, strict=False)]


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(
    st.binary().filter(lambda data: b"5f2e" not in data),
    st.binary().filter(lambda data: b"5f2e" not in data),
    st.lists(st.integers(0, 10_000), max_size=20),
    st.booleans(),
)
def test_content_comes_whole_however_the_stream_is_cut(
    noise: bytes, content: bytes, places: list[int], sunk: bool
) -> None:
    sink = io.BytesIO() if sunk else None
    frame = Frame(MARK, sink=sink)
    for piece in cut(noise + b"5f2e>\n" + content + b"5f2e.17\n" + noise, places):
        frame.feed(piece)
    assert (frame.begun, frame.done, frame.exit) == (True, True, 17)
    if sink is None:
        assert frame.text() == content.decode("utf-8", "replace")
    else:
        assert sink.getvalue() == content


def test_content_goes_to_the_sink_as_it_comes() -> None:
    sink = io.BytesIO()
    frame = Frame(MARK, sink=sink, room=10)
    frame.feed(b"5f2e>\n" + b"x" * 1000)
    assert not frame.done
    assert 1000 - len(sink.getvalue()) < 30


def test_an_end_mark_without_a_code() -> None:
    frame = Frame(MARK)
    frame.feed(b"5f2e>\n5f2e.\n")
    assert (frame.done, frame.exit, frame.text()) == (True, None, "")


def test_more_than_there_is_room_for_is_refused() -> None:
    frame = Frame(MARK, room=100)
    with pytest.raises(TooMuchError):
        frame.feed(b"5f2e>\n" + b"x" * 200)


def test_endless_noise_before_the_begin_is_not_kept() -> None:
    frame = Frame(MARK, room=100)
    for _ in range(100):
        frame.feed(b"y" * 1000)
    frame.feed(b"5f2e>\nz5f2e.0\n")
    assert frame.text() == "z"
