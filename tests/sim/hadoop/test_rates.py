"""The compiled model takes the same rate as the readable one, also where it leaves divisions out."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fawkes.sim.hadoop.flows import MILLI, Pool

#: loading numba takes a second
pytestmark = pytest.mark.slow


def compiled_rate(pool: Pool[None]) -> float:
    """The rate of a pool by the code that is compiled, without compiling it."""
    from fawkes.sim.hadoop.compiled.flows import rate
    from fawkes.sim.hadoop.compiled.layout import POOL

    words = np.zeros(POOL.SIZE, np.int64)
    floats = words.view(np.float64)
    floats[POOL.CAPACITY], floats[POOL.CAP], floats[POOL.SEEK] = pool.capacity, pool.cap, pool.seek
    words[POOL.STREAMS], words[POOL.UNITS] = pool.streams, pool.units
    with np.errstate(all="ignore"):
        return float(rate.py_func(words, floats, 0))  # type: ignore[attr-defined]


@given(
    cap=st.sampled_from([1.0, 0.1, 200.0, 1250.0, inf]) | st.floats(1e-6, 1e9),
    units=st.integers(1, 100_000),
    streams=st.integers(0, 10**9) | st.integers(0, 200_000).map(lambda count: count * MILLI),
    nudge=st.sampled_from([0.0, 0.5, 1.0, 1.0 - 2**-53, 1.0 + 2**-52, 1.0 + 1e-9, 1.0 + 2e-9, 3.0, inf]),
    seek=st.sampled_from([0.0, 0.75]),
)
@example(cap=0.1, units=3, streams=3 * MILLI, nudge=1.0, seek=0.0)
def test_both_models_give_each_stream_the_same_rate(
    cap: float, units: int, streams: int, nudge: float, seek: float
) -> None:
    capacity = nudge * cap * (streams / MILLI) if streams else cap
    pool: Pool[None] = Pool("p", 0.0 if capacity != capacity else capacity, cap, seek, units, streams)
    assert compiled_rate(pool) == pool.rate
