"""Random numbers, divided by purpose: what one part draws does not change what another one gets."""

from __future__ import annotations

import hashlib
import json
import random


def rng(seed: int, *labels: str) -> random.Random:
    """A generator of its own for each seed and purpose, such as ``rng(7, "WKLD-D", "c-2", "arrivals")``.

    The same in any process and on any machine: Python's own hash of a text differs from process to process.
    """
    # As JSON, so that ("a", "b") and ("ab",) are not the same text.
    purpose = json.dumps([seed, *labels]).encode()
    return random.Random(int.from_bytes(hashlib.sha256(purpose).digest()))  # noqa: S311 - the same again is what is wanted
