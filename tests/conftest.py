"""Fixtures and rules for all tests."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.support.examples import examples
from tests.support.no_network import Asked, watched_fetchers
from tests.support.own_group import in_own_group

# A machine that does other things as well makes no test fail.
# In CI the same examples every time: who is at work finds new ones, and not who wants to land something else.
settings.register_profile("patient", deadline=None, max_examples=examples(100), derandomize="CI" in os.environ)
settings.load_profile("patient")

# The readline of a terminal's pytest exports these to its workers: tables and sentences would be broken to that width.
for _name in ("COLUMNS", "LINES"):
    os.environ.pop(_name, None)

# What a script starts in the background ignores interrupts, and so would every command that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Collecting makes millions of objects that all stay: each look for garbage among them finds nothing and takes longer.
gc.disable()

#: folders whose files share a lab
SHARE_A_LAB = ("tests/e2e/programs/", "tests/e2e/real/", "tests/live/lab/")
#: what takes longest begins first, so that no worker has nothing to do while another one has a long way to go; beside
#: two labs with Hadoop, which need both cores, only labs without it
LABS_IN_ORDER = ("tests/e2e/real/", "tests/contract/", "tests/live/lab/", "tests/e2e/", "tests/live/")


class ByLab(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Tests that share a lab run one after another, in their order, whatever runs beside them."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        return next((folder for folder in SHARE_A_LAB if file.startswith(folder)), file)


@pytest.fixture(scope="session", autouse=True)
def _own_group() -> Iterator[None]:
    """Control groups that scripts make on this machine go with the tests."""
    with in_own_group():
        yield


@pytest.fixture(scope="session", autouse=True)
def asked_inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """The requests to Maven and the like from inside labs."""
    with watched_fetchers(tmp_path_factory.mktemp("fetchers")) as asked:
        yield asked


@pytest.fixture(autouse=True)
def _pixels_alone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures as PNG, unless a test is about their files: PDF and SVG take twice as long again."""
    if request.node.get_closest_marker("vectors") is None:
        monkeypatch.setattr("fawkes.report.pictures.style.FORMS", ("png",))


@pytest.fixture(autouse=True)
def _nothing_is_fetched_inside_a_lab(asked_inside: Asked) -> Iterator[None]:
    """All that a lab needs was fetched before: otherwise only a machine with the right caches has working labs."""
    yield
    assert asked_inside.take() == []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Workers take labs in the order of the tests; of the others, slow ones come first and brief ones fill the end."""

    def place(item: pytest.Item) -> tuple[int, bool]:
        at = next((at for at, start in enumerate(LABS_IN_ORDER) if item.nodeid.startswith(start)), len(LABS_IN_ORDER))
        lab = any(item.get_closest_marker(kind) for kind in ("lab", "hadoop"))
        return (at, False) if lab else (len(LABS_IN_ORDER) + 1, item.get_closest_marker("slow") is None)

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """Garbage is looked for again, and not among the tests themselves."""
    gc.freeze()
    gc.enable()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByLab | None:
    """With ``--dist loadscope`` a lab is the scope; xdist's own groups (3.8) are not seen by pytest 9."""
    return ByLab(config, log) if config.getoption("dist") == "loadscope" else None
