"""Images that are increments of others, by the program of a container on folders of this machine: chains and damage."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fawkes.playbook.dist import cache, pins
from fawkes.playbook.dist.compile import compiled

pytestmark = [pytest.mark.lab, pytest.mark.slow]

NONE = 3
MEMORY = random.Random(32).randbytes(4 << 20)
#: one page is new in place, one has come, one has gone, and at the end is more
CHANGED = (
    MEMORY[: 1 << 20] + bytes(4096) + MEMORY[(1 << 20) + 4096 : 2 << 20] + b"new" * 2048 + MEMORY[2 << 20 : 3 << 20]
    + MEMORY[(3 << 20) + 4096 :] + b"end"
)  # fmt: skip
AGAIN = b"first" + bytes(507) + CHANGED[:-5]
OTHER = random.Random(33).randbytes(3 << 20)


class Store:
    """A task with its images, and the containers that it has one after another."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.said = ""

    @property
    def images(self) -> list[Path]:
        """The oldest first."""
        return sorted((self.top / "out/_saved/0").glob("[!._]*"), key=lambda path: path.stat().st_mtime_ns)

    @property
    def told(self) -> list[list[str]]:
        """The words of each file that says of a container when its task went on."""
        return [path.name.split("-") for path in (self.top / "out/_saved/_resumed").glob("[!.]*")]

    def run(self, verb: str, container: str, saved: str = "yes", program: str = "Image") -> int:
        """The exit code of a program of a container."""
        (self.top / container).mkdir(exist_ok=True)
        xml = "<property><name>fawkes.tasks.output</name><value>{}</value></property>".format(self.top / "out")
        (self.top / container / "fawkes-tasks.xml").write_text(f"<configuration>{xml}</configuration>")
        hadoop = cache.folder_of(pins.pin(pins.DEFAULT_VERSION)) / "lib/*"
        java = ["java", "-Xmx64m", "-XX:TieredStopAtLevel=1", "-cp", f"{compiled.jar_of(compiled.TASKS)}:{hadoop}:."]
        done = subprocess.run(
            [*java, f"fawkes.tasks.{program}", verb],
            cwd=self.top / container,
            env={
                **os.environ, "CONTAINER_ID": container, "FAWKES_TASK_INDEX": "0", "FAWKES_TASK_SAVED": saved,
                "FAWKES_RESULTS": "results",
            },
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
        self.said = done.stderr
        return done.returncode

    def save(self, container: str, content: bytes) -> None:
        """Let a container save this, with the image that it has loaded as the parent."""
        (self.top / container).mkdir(exist_ok=True)
        image = self.top / container / "fawkes-image"
        if image.exists():
            image.rename(image.with_name("fawkes-parent"))
        image.write_bytes(content)
        assert self.run("save", container) == 0, self.said

    def load(self, container: str) -> bytes | None:
        """The image that a container gets; None: nothing that can be used."""
        code = self.run("load", container)
        assert code in (0, NONE), self.said
        return None if code else (self.top / container / "fawkes-image").read_bytes()


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole image, an increment, and an increment of that."""
    store = Store(tmp_path_factory.mktemp("chain"))
    store.save("first", MEMORY)
    assert store.load("second") == MEMORY
    store.save("second", CHANGED)
    assert store.load("third") == CHANGED
    store.save("third", AGAIN)
    return store.top


@pytest.fixture
def store(chain: Path, tmp_path: Path) -> Store:
    return Store(shutil.copytree(chain, tmp_path / "store"))


def test_increments_are_small_name_their_parent_and_give_back_what_was_saved(store: Store) -> None:
    whole, second, third = store.images
    assert whole.stat().st_size == len(MEMORY)
    assert max(second.stat().st_size, third.stat().st_size) < 20_000
    digests = [hashlib.sha256(image.read_bytes()).hexdigest() for image in (whole, second, third)]
    names = [image.name.split("-")[1:] for image in (whole, second, third)]
    assert names == [
        [str(len(MEMORY)), digests[0]],
        [digests[0], str(second.stat().st_size), digests[1]],
        [digests[1], str(third.stat().st_size), digests[2]],
    ]
    assert store.load("fourth") == AGAIN


@pytest.mark.nightly
def test_after_three_links_comes_a_whole_image_and_the_others_go(store: Store) -> None:
    assert store.load("fourth") == AGAIN
    store.save("fourth", AGAIN)
    (whole,) = store.images
    assert whole.read_bytes() == AGAIN


@pytest.mark.nightly
def test_what_has_changed_too_much_is_whole(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save("first", MEMORY)
    assert store.load("second") == MEMORY
    store.save("second", OTHER + MEMORY[3 << 20 :])
    (whole,) = store.images
    assert whole.read_bytes() == OTHER + MEMORY[3 << 20 :]


@pytest.mark.nightly
def test_an_increment_whose_parent_has_gone_meanwhile_is_whole(store: Store) -> None:
    assert store.load("fourth") == AGAIN
    store.images[0].unlink()
    store.save("fourth", AGAIN + b"more")
    (whole,) = store.images
    assert whole.read_bytes() == AGAIN + b"more"


@pytest.mark.nightly
def test_what_is_of_no_use_goes_with_all_that_it_needs(store: Store) -> None:
    assert store.load("fourth") == AGAIN
    assert store.run("drop", "fourth") == 0
    assert store.images == []


@pytest.mark.nightly
@pytest.mark.parametrize("verb", ["drop", "leave"])
def test_when_a_task_went_on_is_told_unless_it_ran_in_between_or_begins_again(store: Store, verb: str) -> None:
    assert (store.run("load", "fourth"), store.told) == (0, [])
    assert store.run("load", "fifth", saved="just") == 0
    ((container, imaged_ms, took_ms),) = store.told
    assert (container, int(imaged_ms)) == ("fifth", store.images[-1].stat().st_mtime_ns // 10**6)
    assert int(took_ms) > 0
    store.run(verb, "fifth")
    assert (store.told, bool(store.images)) == ([], verb == "leave")


def spoil(image: Path) -> None:
    content = image.read_bytes()
    middle = len(content) // 2
    write(image, content[:middle] + b"spoilt" + content[middle + 6 :])


def write(image: Path, content: bytes) -> None:
    """Change a file without the checksums that Hadoop has of it, and without its time."""
    times = image.stat()
    image.with_name(f".{image.name}.crc").unlink()
    image.write_bytes(content)
    os.utime(image, ns=(times.st_atime_ns, times.st_mtime_ns))


def swap(whole: Path) -> None:
    """Another whole image, with a name that is right, in the place of a parent."""
    content = bytes(len(MEMORY))
    write(whole, content)
    whole.rename(whole.with_name(f"first-{len(content)}-{hashlib.sha256(content).hexdigest()}"))


@pytest.mark.parametrize(
    ("link", "harm", "expected"),
    [
        pytest.param(0, spoil, None, id="the whole one is damaged", marks=pytest.mark.nightly),
        pytest.param(0, Path.unlink, None, id="the whole one is missing", marks=pytest.mark.nightly),
        pytest.param(
            0,
            lambda image: write(image, bytes(len(MEMORY))),
            None,
            id="the whole one is another",
            marks=pytest.mark.nightly,
        ),
        pytest.param(0, swap, bytes(len(MEMORY)), id="the whole one was swapped for another whole image"),
        pytest.param(1, spoil, MEMORY, id="the first increment is damaged", marks=pytest.mark.nightly),
        pytest.param(1, Path.unlink, MEMORY, id="the first increment is missing", marks=pytest.mark.nightly),
        pytest.param(2, spoil, CHANGED, id="the last increment is damaged"),
    ],
)
def test_a_chain_with_a_link_that_is_not_right_gives_what_is_before_it_or_nothing(
    store: Store, link: int, harm: Callable[[Path], None], expected: bytes | None
) -> None:
    before = store.images
    harm(before[link])
    assert store.load("fourth") == expected
    assert len(store.images) == (link if expected is None or link else 1)


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        pytest.param(0, None, marks=pytest.mark.nightly),
        pytest.param(1, MEMORY, marks=pytest.mark.nightly),
        pytest.param(2, CHANGED, id="the last increment"),
    ],
)
def test_what_cannot_be_read_now_is_passed_over_and_stays_with_all_that_it_needs(
    store: Store, link: int, expected: bytes | None
) -> None:
    before = store.images
    times = before[link].stat()
    before[link].rename(store.top / "away")
    before[link].mkdir()
    os.utime(before[link], ns=(times.st_atime_ns, times.st_mtime_ns))
    assert store.load("fourth") == expected
    store.save("fourth", OTHER)
    *stay, newest = store.images
    assert (stay, newest.read_bytes()) == (before, OTHER)

    newest.unlink()
    before[link].rmdir()
    (store.top / "away").rename(before[link])
    assert store.load("fifth") == AGAIN


def test_what_one_node_cannot_restore_outlives_what_is_saved_there(store: Store) -> None:
    before = store.images
    assert store.load("fourth") == AGAIN
    assert store.run("leave", "fourth") == 0
    store.save("fourth", OTHER)
    assert store.images[:-1] == before


def test_a_task_of_which_nothing_was_ever_saved_begins_without_a_word(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert (store.load("first"), "begins again" in store.said) == (None, False)
    store.save("first", MEMORY)
    store.images[0].unlink()
    assert store.load("second") is None
    assert store.said.endswith("no image of it can be used: it begins again\n")


def test_what_cannot_be_stored_leaves_no_part_of_it(tmp_path: Path) -> None:
    store = Store(tmp_path)
    results = tmp_path / "first/results"
    results.mkdir(parents=True)
    (results / "a").write_text("whole")
    (results / "b").symlink_to("/proc/self/mem")
    assert store.run("", "first", program="Keep") == 1
    assert list((tmp_path / "out/_temporary").iterdir()) == []

    (results.parent / "fawkes-image").write_bytes(MEMORY)
    way = tmp_path / f"out/_saved/0/first-{len(MEMORY)}-{hashlib.sha256(MEMORY).hexdigest()}"
    (way / "in the way").mkdir(parents=True)
    assert store.run("save", "first") == 1
    assert list(way.parent.iterdir()) == [way]
