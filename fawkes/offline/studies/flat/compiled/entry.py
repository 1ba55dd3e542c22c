"""The function that Python calls: it gets the place of the places of arrays in memory, and hands over pointers."""

from __future__ import annotations

from fawkes.offline.studies.flat.compiled.layout import CompiledPool
from fawkes.offline.studies.flat.compiled.pool import run
from fawkes.sim.hadoop.compiled.flows import as_floats as _f
from fawkes.sim.hadoop.compiled.flows import as_integers as _i


def run_at(place: int, count: int) -> int:
    """Run a pool of so many jobs; the places of its arrays are there, and all must stay alive meanwhile."""
    at = _i(place)
    run(
        CompiledPool(
            _f(at[0]), _f(at[1]), _f(at[2]), _i(at[3]), _i(at[4]), _i(at[5]), _f(at[6]), _i(at[7]), _f(at[8]),
            _i(at[9]), _f(at[10]), _f(at[11]), _i(at[12]), _f(at[13]), _f(at[14]), _f(at[15]), _f(at[16]), _i(at[17]),
            _i(at[18]), _i(at[19]), _i(at[20]), _i(at[21]), _f(at[22]), _i(at[23]), _i(at[24]), _f(at[25]), _f(at[26]),
            _f(at[27]), _f(at[28]), _i(at[29]), _f(at[30]), _i(at[31]),
        ),
        count,
    )  # fmt: skip
    return 0
