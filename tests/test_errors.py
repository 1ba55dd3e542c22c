"""Errors reach another process as they are."""

from __future__ import annotations

import pickle
import pkgutil
from collections.abc import Iterator
from importlib import import_module

import pytest

import fawkes
from fawkes.base.errors import ConfigError, FawkesError, HostError, PartialError
from fawkes.config.files.loader import ManyConfigError


def kinds(kind: type[FawkesError] = FawkesError) -> Iterator[type[FawkesError]]:
    """The class and all classes below it, of all modules of Fawkes."""
    yield kind
    for below in kind.__subclasses__():
        yield from kinds(below)


def test_an_error_of_each_class_is_pickled() -> None:
    for module in pkgutil.walk_packages(fawkes.__path__, "fawkes."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    names = {kind.__name__ for kind in kinds()}
    assert {"SshError", "TurnedDownError", "UnsavedError"} <= names
    for kind in kinds():
        error = kind.__new__(kind, "it broke")
        vars(error).update(what="it broke", where="here", hint="Mend it", more={"a": 1})
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), again.args, vars(again)) == (kind, error.args, vars(error))


@pytest.mark.parametrize("protocol", [0, pickle.HIGHEST_PROTOCOL])
def test_an_error_keeps_its_text_and_its_parts(protocol: int) -> None:
    wrong = ConfigError("is wrong", file="a.toml", key="tau", hint="Mend it")
    host = HostError("is gone", host="node01")
    for error in (wrong, host, PartialError("asked", done=1, failed={"node02": "no"}), ManyConfigError([wrong, wrong])):
        again = pickle.loads(pickle.dumps(error, protocol))
        assert (str(again), type(again), repr(vars(again))) == (str(error), type(error), repr(vars(error)))
