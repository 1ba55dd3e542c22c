"""Tasks that CRIU dumps and brings back on the kernel of this machine, as root and as an ordinary user."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import pytest

from fawkes.playbook import read_facts
from fawkes.playbook.criu import debian
from fawkes.playbook.dist import cache, pieces, pins
from fawkes.playbook.dist.compile import compiled
from playbooks import node
from tests.support.waiting import wait_for

pytestmark = pytest.mark.lab

LIMIT_S = 180.0
NOBODY = 65534
#: prints numbers until 40 of them are there
SHELL = "n=0; while [ $n -lt 40 ]; do n=$((n + 1)); echo $n; sleep 0.05; done"
PYTHON = """
import time
data = bytearray(20_000_000)
for n in range(1, 41):
    data[n * 4096] = n
    print(n, flush=True)
    time.sleep(0.05)
assert all(data[n * 4096] == n for n in range(1, 41))
"""
JAVA = """
public class Count {
    public static void main(String[] args) throws Exception {
        for (int n = 1; n <= 40; n++) {
            System.out.println(n);
            Thread.sleep(50);
        }
    }
}
"""
#: 64 MB, of which some 4 MB change between two moves, and nothing else is ever lost of them
PAGES = """
import hashlib, os, time
data, n = bytearray(os.urandom(64 << 20)), 0
rest, pages = hashlib.sha256(data[4 << 20:]).digest(), [bytes(data[at:at + 4096]) for at in range(0, 4 << 20, 4096)]
while not os.path.exists("stop"):
    n += 1
    for page in range(n % 8, 1024, 8):
        pages[page] = os.urandom(4096)
        data[page * 4096:page * 4096 + 4096] = pages[page]
    print(n, flush=True)
    time.sleep(0.05)
assert hashlib.sha256(data[4 << 20:]).digest() == rest and bytes(data[:4 << 20]) == b"".join(pages)
print("right", flush=True)
"""
#: without the network nothing of it can be sent on
SOCKET = """
import socket, time
here = socket.create_server(("127.0.0.1", 0))
with socket.create_connection(here.getsockname()) as connection:
    print("connected", flush=True)
    while True:
        time.sleep(0.05)
"""


@pytest.fixture(scope="module")
def criu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """CRIU as YARN unpacks it, where everybody can read it."""
    pieces.provide(pieces.of_name("criu"))
    folder = Path("/tmp") / f"criu-of-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    with tarfile.open(debian.place_of(debian.CRIU)) as tar:
        tar.extractall(folder, filter="data")
    shutil.copyfile(debian.SCRIPT, folder / "fawkes-criu")
    (folder / "fawkes-criu").chmod(0o755)
    folder.chmod(0o755)
    return folder


@pytest.fixture(params=["root", "user"])
def uid(request: pytest.FixtureRequest, criu: Path) -> int:
    if os.geteuid() != 0:
        pytest.skip("only root can be two users")
    uid = 0 if request.param == "root" else NOBODY
    script = node.check(PurePosixPath("/tmp")).text
    said = subprocess.run(
        ["/bin/sh", "-s"], input=script, user=uid, group=uid, capture_output=True, text=True, check=True
    )
    facts = read_facts(said.stdout)
    if facts["criu"] != "yes":
        pytest.skip(f"this machine cannot: {facts['criu.why']}")
    return uid


def as_user(uid: int, criu: Path, verb: str, work: Path, command: str = "") -> subprocess.Popen[str]:
    words = ["/bin/sh", "./fawkes-criu", verb, str(work), str(criu), *([command] if command else [])]
    return subprocess.Popen(
        words, user=uid, group=uid, extra_groups=[], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True, cwd=criu,
    )  # fmt: skip


class Task:
    """A task and the folders that it has been in."""

    def __init__(self, criu: Path, uid: int, files: dict[str, str]) -> None:
        self.criu, self.uid, self.moves = criu, uid, 0
        self.top = Path("/tmp") / f"task-of-{os.getpid()}"
        shutil.rmtree(self.top, ignore_errors=True)
        self.work = self.top / "0"
        self.work.mkdir(parents=True)
        for name, text in files.items():
            (self.work / name).write_text(text)
        for path in (self.top, *self.top.rglob("*")):
            os.chown(path, uid, uid)
        self.process = as_user(uid, criu, "run", self.work, "command")

    @property
    def numbers(self) -> list[str]:
        file = self.work / "stdout"
        return file.read_text().split() if file.exists() else []

    def dump(self) -> tuple[int, str]:
        done = as_user(self.uid, self.criu, "dump", self.work)
        said = done.communicate(timeout=LIMIT_S)[1]
        return done.returncode, said

    def end(self) -> tuple[int, str]:
        said = self.process.communicate(timeout=LIMIT_S)[1]
        return self.process.returncode, said

    def move(self) -> None:
        """Its folder comes to another place, and it goes on there."""
        self.moves += 1
        new = self.top / str(self.moves)
        subprocess.run(["cp", "-a", str(self.work), str(new)], check=True)
        shutil.rmtree(self.work)
        self.work = new
        self.process = as_user(self.uid, self.criu, "resume", self.work)

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.communicate()
        shutil.rmtree(self.top, ignore_errors=True)


Start = Callable[..., Task]


@pytest.fixture
def start(criu: Path, uid: int) -> Iterator[Start]:
    begun: list[Task] = []

    def begin(command: str, **files: str) -> Task:
        begun.append(Task(criu, uid, {"command": command, **{name.replace("_", "."): t for name, t in files.items()}}))
        return begun[-1]

    yield begin
    for task in begun:
        task.close()


@pytest.fixture(scope="module", autouse=True)
def _tidy(criu: Path) -> Iterator[None]:
    yield
    shutil.rmtree(criu, ignore_errors=True)


@pytest.mark.parametrize(
    ("command", "files"),
    [
        pytest.param("exec python3 count.py", {"count_py": PYTHON}, id="python"),
        pytest.param(SHELL, {}, id="shell", marks=pytest.mark.nightly),
        pytest.param(
            "javac -d . Count.java && exec java -Xmx64m -XX:+UseSerialGC -cp . Count",
            {"Count_java": JAVA},
            id="java",
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_a_task_that_is_moved_twice_has_no_gap_and_no_repetition(
    start: Start, command: str, files: dict[str, str]
) -> None:
    task = start(command, **files)
    for _ in range(2):
        before = len(task.numbers)
        wait_for(lambda before=before: len(task.numbers) > before + 5, "numbers")  # type: ignore[misc]
        code, said = task.dump()
        assert (code, task.end()[0]) == (0, 85), said
        task.move()
    assert task.end()[0] == 0
    assert task.numbers == [str(number) for number in range(1, 41)]


def test_where_the_kernel_tracks_writes_only_written_pages_are_dumped(start: Start, criu: Path) -> None:
    """Its program writes all the time, and knows at the end whether anything is lost."""
    program = [str(criu / "lib/ld-linux-x86-64.so.2"), "--library-path", str(criu / "lib"), str(criu / "bin/criu")]
    if subprocess.run([*program, "check", "--feature", "mem_dirty_track"], check=False).returncode != 0:
        pytest.skip("this kernel does not track writes")
    task = start("exec python3 count.py", count_py=PAGES)
    sizes = []
    for _ in range(2):
        before = len(task.numbers)
        wait_for(lambda before=before: len(task.numbers) > before + 8, "numbers")  # type: ignore[misc]
        code, said = task.dump()
        assert (code, task.end()[0]) == (0, 85), said
        sizes.append(sum(file.stat().st_size for file in (task.work / "fawkes-image").glob("pages-*.img")))
        task.move()
    assert sizes[1] < sizes[0] / 3
    (task.work / "stop").touch()
    assert task.end()[0] == 0
    *numbers, last = task.numbers
    assert (last, numbers) == ("right", [str(number) for number in range(1, len(numbers) + 1)])


def test_what_it_prints_is_told_once_by_each_start(start: Start) -> None:
    task = start(SHELL)
    wait_for(lambda: len(task.numbers) > 5, "numbers")
    assert task.dump()[0] == 0
    first = task.process.communicate(timeout=LIMIT_S)[0]
    task.move()
    assert (first + task.process.communicate(timeout=LIMIT_S)[0]).split() == task.numbers


def test_a_command_that_ends_at_once_has_its_own_code(start: Start) -> None:
    task = start("echo no >&2; exit 7")
    assert task.end() == (7, "no\n")
    assert task.dump()[0] != 0


def test_a_process_that_forks_away_goes_with_the_namespace(start: Start) -> None:
    task = start("sleep 1000 & echo $! >forked; setsid sleep 1000 & exit 3")
    assert task.end()[0] == 3
    out = subprocess.run(
        ["pgrep", "-u", str(task.uid), "-fx", "sleep 1000"], capture_output=True, text=True, check=False
    )
    assert out.stdout == ""


def test_a_task_with_a_connection_is_not_dumped_and_goes_on(start: Start) -> None:
    task = start("exec python3 talk.py", talk_py=SOCKET)
    wait_for(lambda: task.numbers == ["connected"], "its connection")
    code, said = task.dump()
    assert code != 0
    assert "CRIU cannot dump it" in said
    assert task.process.poll() is None
    assert not (task.work / "fawkes-image").exists()


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda image: (image / "about").write_text("arm64 Version: 1"), "another architecture or another CRIU"),
        (shutil.rmtree, "there is no image"),
    ],
)
def test_an_image_that_cannot_be_used_starts_nothing(start: Start, spoil: Callable[[Path], None], why: str) -> None:
    task = start(SHELL)
    wait_for(lambda: len(task.numbers) > 3, "numbers")
    assert task.dump()[0] == 0
    task.end()
    spoil(task.work / "fawkes-image")
    before = task.numbers
    task.move()
    code, said = task.end()
    assert (code, task.numbers) == (86, before)
    assert why in said


def test_whoever_is_killed_leaves_nothing_running(start: Start) -> None:
    task = start("echo run; exec sleep 1234")
    wait_for(lambda: task.numbers == ["run"], "the command")
    os.killpg(task.process.pid, signal.SIGKILL)
    task.process.communicate(timeout=LIMIT_S)
    wait_for(
        lambda: subprocess.run(["pgrep", "-fx", "sleep 1234"], capture_output=True, check=False).returncode == 1,
        "the end of the command",
    )


def test_a_task_that_is_killed_after_its_move_was_no_bad_image(start: Start) -> None:
    task = start("n=0; until [ -e stop ]; do n=$((n + 1)); echo $n; sleep 0.05; done; kill -9 $PPID $$")
    wait_for(lambda: len(task.numbers) > 3, "numbers")
    assert task.dump() == (0, "")
    assert task.end()[0] == 85
    before = len(task.numbers)
    task.move()
    wait_for(lambda: len(task.numbers) > before, "numbers after the move")
    (task.work / "stop").touch()
    code, said = task.end()
    assert code == 137
    assert "cannot restore" not in said


def test_a_task_ends_although_its_dumper_was_killed(start: Start) -> None:
    """The mark of a dump is there, and nobody dumps."""
    task = start("exec sleep 1234")
    wait_for(lambda: (task.work / ".pid").exists(), "the command")
    (task.work / ".dumping").touch()
    kill = ["pkill", "-9", "-u", str(task.uid), "-fx", "sleep 1234"]
    wait_for(lambda: subprocess.run(kill, check=False).returncode == 0, "the program of the command")
    assert task.end()[0] == 137


class Containers:
    """The containers that a task has one after another, with folders of this machine for HDFS."""

    def __init__(self, criu: Path, uid: int) -> None:
        self.criu, self.uid, self.number = criu, uid, 0
        self.top = Path("/tmp") / f"containers-of-{os.getpid()}"
        shutil.rmtree(self.top, ignore_errors=True)
        self.top.mkdir()
        (self.top / "count.py").write_text(PAGES)
        (self.top / "fawkes-command").write_text("exec python3 count.py")
        properties = {"fawkes.tasks.name": "count", "fawkes.tasks.output": f"{self.top}/out"}
        rows = "".join(f"<property><name>{k}</name><value>{v}</value></property>" for k, v in properties.items())
        (self.top / "fawkes-tasks.xml").write_text(f"<configuration>{rows}</configuration>")
        hadoop = cache.folder_of(pins.pin(pins.DEFAULT_VERSION))
        shutil.copytree(hadoop / "lib", self.top / "lib", copy_function=os.link)
        shutil.copyfile(compiled.jar_of(compiled.TASKS), self.top / "lib" / compiled.TASKS.jar)
        shutil.copyfile(compiled.TASKS.sources / "fawkes-task", self.top / "fawkes-task")
        os.chown(self.top, uid, uid)
        self.start()

    @property
    def folder(self) -> Path:
        return self.top / f"container_{self.number}"

    @property
    def images(self) -> list[Path]:
        """The oldest first."""
        return sorted((self.top / "out/_saved/0").glob("[!._]*"), key=lambda path: path.stat().st_mtime_ns)

    @property
    def numbers(self) -> list[str]:
        file = self.folder / "fawkes-work/stdout"
        return file.read_text().split() if file.exists() else []

    def start(self) -> None:
        """The next container; it has what was saved if there is any."""
        before = self.numbers
        self.number += 1
        self.folder.mkdir()
        os.chown(self.folder, self.uid, self.uid)
        for place in (*(self.top.glob("[cf]*[a-z]")), self.criu / "fawkes-criu"):
            if not place.is_dir():
                (self.folder / place.name).symlink_to(place)
        (self.folder / "fawkes-criu.tar").symlink_to(self.criu)
        java = Path(shutil.which("java") or "").resolve().parents[1]
        environment = {
            "JAVA_HOME": str(java), "CLASSPATH": f"{self.top}/lib/*", "CONTAINER_ID": self.folder.name,
            "FAWKES_TASK_INDEX": "0", "FAWKES_TASK_SAVES": "criu", "FAWKES_TASK_SAVED": "yes",
        }  # fmt: skip
        with (self.folder / "log").open("w") as log:
            self.process = subprocess.Popen(
                ["/bin/sh", "./fawkes-task"], cwd=self.folder, env={**os.environ, **environment}, user=self.uid,
                group=self.uid, extra_groups=[], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        wait_for(lambda: len(self.numbers) > len(before) + 8, "numbers")

    def save(self) -> int:
        """The bytes that a save has written; the container has ended."""
        order = self.folder / "fawkes-order"
        order.write_text("save 0\n")
        dump = as_user(self.uid, self.criu, "dump", self.folder / "fawkes-work")
        said = dump.communicate(timeout=LIMIT_S)[1]
        assert dump.returncode == 0, said
        assert self.process.wait(LIMIT_S) == 85, (self.folder / "log").read_text()
        how, _, size = (self.top / "fawkes-answers" / self.folder.name).read_text().split()
        assert how == "saved"
        return int(size)

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        shutil.rmtree(self.top, ignore_errors=True)


@pytest.fixture
def containers(criu: Path, uid: int) -> Iterator[Containers]:
    containers = Containers(criu, uid)
    yield containers
    containers.close()


@pytest.mark.nightly
def test_a_task_that_is_moved_four_times_writes_what_has_changed_in_chains_that_are_short(
    containers: Containers,
) -> None:
    written = []
    for _ in range(4):
        written.append(containers.save())
        assert containers.images[-1].stat().st_size == written[-1]
        containers.start()
    whole, *increments, again = written
    assert min(whole, again) > 64 << 20
    assert max(increments) < whole / 6
    (containers.folder / "fawkes-work/stop").touch()
    assert containers.process.wait(LIMIT_S) == 0, (containers.folder / "log").read_text()
    *numbers, last = containers.numbers
    assert (last, numbers) == ("right", [str(number) for number in range(1, len(numbers) + 1)])
    assert not (containers.top / "out/_saved/0").exists()
