"""Reasons that a start, an adoption and a jump of the clock give, and their sentences."""

from __future__ import annotations

from fawkes.core.values.model import Reason

STARTS: tuple[tuple[Reason, str], ...] = (
    (
        Reason("adopted", {"by": "ann", "clusters": ["a", "b"], "nodes": ["n1", "n2", "n3"], "jobs": ["j"]}),
        "ann adopted the pool: a, b with 3 nodes and 1 known job",
    ),
    (
        Reason("not-adopted", {"cluster": "c", "error": "it was still being deployed or loaded"}),
        "c is not adopted: it was still being deployed or loaded; its nodes keep running, out of service",
    ),
    (
        Reason("node-adopted", {"node": "n1", "cluster": "c", "role": "core"}),
        "n1 belongs to c as a core node since the pool was adopted",
    ),
    (
        Reason("held-out", {"node": "n1", "error": "it is held by c, which was not adopted"}),
        "n1 is held out of service: it is held by c, which was not adopted. Run `fawkes undrain n1` when it is known "
        "to be clean",
    ),
    (
        Reason("clock-jumped", {"by_us": 36_000_000_000, "ahead": True, "uncounted_us": 36_000_000_000}),
        "The clock of the controller's machine was set ahead by 10h00m. This counts as no time; all deadlines and "
        "idle times are put off by 10h00m",
    ),
    (
        Reason("clock-jumped", {"by_us": 36_000_000_000, "ahead": False, "uncounted_us": 0}),
        "The clock of the controller's machine was set back by 10h00m. This counts as no time",
    ),
    (
        Reason("away", {"away_us": 7_200_000_000, "counted_us": 600_000_000}),
        "No controller ran for 2h00m; 10m00s of that count for deadlines and idle times",
    ),
)
