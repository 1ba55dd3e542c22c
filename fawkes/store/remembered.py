"""The state that a store leads to: its latest picture and the steps since."""

from __future__ import annotations

import logging

from fawkes.core.clusters.picture import Picture, restored
from fawkes.core.state.state import State, evolve
from fawkes.store.base import Reader
from fawkes.store.record import RecordError, from_plain

_log = logging.getLogger(__name__)


def remembered(store: Reader) -> tuple[State, int]:
    """The state after the last step, and the step after which the picture was taken; 0 without one.

    All steps are read if the picture is of a version that cannot be read.
    """
    seq, plain = store.latest_snapshot() or (0, None)
    try:
        state = State() if plain is None else restored(from_plain(Picture, plain))
    except RecordError as error:
        _log.warning("the picture of step %s cannot be read (%s): all steps are read", seq, error)
        seq, state = 0, State()
    for entry in store.entries(after=seq):
        evolve(state, entry.event.at_us, entry.decision.changes)
    return state, seq
