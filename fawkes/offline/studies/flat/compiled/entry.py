"""The function that Python calls: it gets the places of arrays in memory, so that compiled functions see pointers."""

from __future__ import annotations

from fawkes.offline.studies.flat.compiled.pool import CompiledPool, run
from fawkes.offline.studies.flat.jobs import Floats, Ints
from fawkes.sim.hadoop.compiled.flows import as_floats as _f
from fawkes.sim.hadoop.compiled.flows import as_integers as _i

#: fields of `CompiledPool` that are pointers: the first ones
POINTERS = CompiledPool._fields.index("m") + 1


def run_at(
    at: Ints, count: int, recent: Floats, batches: Floats, sums: Ints, idle_since: Floats, idle_counts: Ints
) -> None:
    """Run a pool of so many jobs whose first arrays are at these places; they must stay alive meanwhile."""
    run(
        CompiledPool(
            _f(at[0]), _f(at[1]), _f(at[2]), _i(at[3]), _i(at[4]), _i(at[5]), _f(at[6]), _i(at[7]), _f(at[8]),
            _i(at[9]), _f(at[10]), _f(at[11]), _i(at[12]), _f(at[13]), _f(at[14]), _f(at[15]), _f(at[16]), _i(at[17]),
            _i(at[18]), _i(at[19]), _i(at[20]), _i(at[21]), _f(at[22]), _i(at[23]), _i(at[24]), _f(at[25]), _f(at[26]),
            recent, batches, sums, idle_since, idle_counts,
        ),
        count,
    )  # fmt: skip
