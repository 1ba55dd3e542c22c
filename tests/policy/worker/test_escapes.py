"""Ways out of the language's own fences: each gets hold of Python's builtins, and then finds nothing to use them on.

The text of each passes the check of policy files, which is for mistakes. What holds is the process without rights.
"""

from __future__ import annotations

import os
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError
from fawkes.core.fairness.weights import Measure, measure_all
from fawkes.core.values.events import PolicyText
from fawkes.core.values.model import ClusterId, Sample
from fawkes.core.values.settings import Settings
from fawkes.core.values.window import Window
from fawkes.policy.worker.asking import WorkerLimits
from fawkes.policy.worker.policies import is_own, load_weighting, loader, policy_text

pytestmark = pytest.mark.slow

WINDOW = Window(ClusterId("c-1"), (Sample(at_us=0, tasks_waiting=3),))
SHORT = WorkerLimits(time_s=0.5, memory_bytes=10**8)

#: each finds the frame of a caller, and binds `b` to the builtins of the process
WAYS = {
    "a generator's frame": """g = (outside(g.gi_frame) for _ in (0,))
    b = next(g)""",
    "a traceback": """try:
        1 / 0
    except ZeroDivisionError as error:
        match error:
            case ZeroDivisionError(__traceback__=trace):
                b = outside(trace.tb_frame)""",
    "a handler's context": """try:
        try:
            [][1]
        except IndexError as first:
            raise ValueError from first
    except ValueError as error:
        match error:
            case ValueError(__cause__=IndexError(__traceback__=trace)):
                b = outside(trace.tb_frame)""",
}
OUT = WAYS["a generator's frame"]
#: what a policy without a fence would do with them, as expressions of the builtins `b`
DEEDS = {
    "read a file": "b['open']({secret!r}).read()",
    "write a file": "b['open']({target!r}, 'w')",
    "look at a folder": "os.listdir('/')",
    "run a program": "os.posix_spawn('/bin/sh', ['sh', '-c', 'touch {target}'], {{}})",
    "fork": "os.fork()",
    "replace itself": "os.execv('/bin/sh', ['sh', '-c', 'touch {target}'])",
    "connect": "m('socket').create_connection(('127.0.0.1', {port}), 1)",
    "listen": "m('_socket').socket(2, 1, 0)",
    "signal its parent": "os.kill(os.getppid(), 15)",
    "unlink": "os.unlink({secret!r})",
    "call C": "m('ctypes').CDLL(None).unlink({secret!r}.encode())",
}
#: what the kernel says, and what Python makes of it when that was about a file that it wanted to load
NOT_PERMITTED = r"Operation not permitted|No module named|cannot open shared object"
HEAD = """NAME = "OUT"


def outside(frame):
    while "open" not in frame.f_builtins:
        frame = frame.f_back
    return frame.f_builtins
"""


def policy(body: str, given: str = "window") -> PolicyText:
    return policy_text("OUT", "out.py", f"{HEAD}\n\ndef measure({given}):\n    {body}\n")


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_whoever_leaves_the_language_has_no_rights(way: str, tmp_path: Path, listener: socket.socket) -> None:
    """One process tries all deeds: it takes a hundred times as long to start as to be refused."""
    secret, target = tmp_path / "secret", tmp_path / "target"
    secret.write_text("of the controller")
    body = f"""{way}
    m = b['__import__']
    os = m('sys').modules['os']
    ends = {{}}"""
    for name, deed in DEEDS.items():
        done = deed.format(secret=str(secret), target=str(target), port=listener.getsockname()[1])
        body += f"""
    try:
        ends[{name!r}] = 'it could' if {done} != -1 else 'Operation not permitted'
    except Exception as error:
        ends[{name!r}] = f'{{error}}'"""
    _, ends = load_weighting(policy(f"{body}\n    return 1, ends", "window, memory"), Settings())(WINDOW, None)
    assert isinstance(ends, dict)
    assert ends.keys() == DEEDS.keys()
    assert {name: end for name, end in ends.items() if not re.search(NOT_PERMITTED, str(end))} == {}
    assert secret.read_text() == "of the controller"
    assert not target.exists()


def test_the_way_out_of_the_language_is_really_there() -> None:
    """Else the tests above would prove nothing."""
    body = f"{OUT}\n    return b['eval']('6 * 7')"
    assert load_weighting(policy(body), Settings())(WINDOW, None) == (42, None)


def test_a_worker_has_nothing_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of the controller")
    body = f"""{OUT}
    raise ValueError(sorted(b['__import__']('os').environ))"""
    with pytest.raises(Exception, match="PYTHONHASHSEED") as raised:
        load_weighting(policy(body), Settings())(WINDOW, None)
    assert "AWS" not in str(raised.value)


def test_an_answer_is_data(tmp_path: Path) -> None:
    """A worker that writes a pickle in place of its answer has nothing run by the process that asked."""
    target = tmp_path / "target"
    body = f"""{OUT}
    m = b['__import__']
    data = b"cposix\\nsystem\\n(S'touch {target}'\\ntR."
    m('os').write(1, len(data).to_bytes(8, 'big') + data)
    return 1"""
    with pytest.raises(ValueError, match="not JSON"):
        load_weighting(policy(body), Settings())(WINDOW, None)
    assert not target.exists()


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ("b'[' * 100_000", "not JSON"),
        ("b'{}'", "no policy answers"),
        ("b'[\"answered\", 7]'", "no policy answers"),
        ('b\'["answered", ["number", "x", null]]\'', "no policy answers"),
    ],
)
def test_an_answer_that_is_none_is_an_error_of_the_policy(sent: str, says: str) -> None:
    body = f"""{OUT}
    data = {sent}
    b['__import__']('os').write(1, len(data).to_bytes(8, 'big') + data)
    return 1"""
    with pytest.raises(ValueError, match=says):
        load_weighting(policy(body), Settings())(WINDOW, None)


@pytest.mark.parametrize(
    ("ends", "says"),
    [
        ("return (x for x in ())", "<generator object measure.<locals>.<genexpr>> is not a number"),
        ("return [min, measure]", "[<built-in function min>, <function measure>] is not a number"),
        ("raise ValueError(measure)", "ValueError: <function measure>, line 11"),
    ],
)
def test_what_a_policy_gets_wrong_is_said_the_same_in_every_process(ends: str, says: str) -> None:
    """An object's place in memory would be another one in a replay."""
    measured = measure_all(load_weighting(policy(ends), Settings()), {WINDOW.cluster: WINDOW}, {})
    assert says in measured.failed
    assert "0x" not in measured.failed


def test_an_answer_without_end_is_not_waited_for() -> None:
    body = f"""{OUT}
    b['__import__']('os').write(1, (2**62).to_bytes(8, 'big'))
    return 1"""
    with pytest.raises(ValueError, match="the most is"):
        load_weighting(policy(body), Settings())(WINDOW, None)


def test_memory_is_limited_also_for_c() -> None:
    measure = loader(SHORT)(policy("return len(str(10 ** 4000) * 10**9)"), Settings())
    with pytest.raises(Exception, match="needs more"):
        measure(WINDOW, None)


def test_two_policies_do_not_share_a_process() -> None:
    """Else one that has left the language could answer for the other."""
    leaves = f"""{OUT}
    b.update(max=lambda *values: 99.0)
    return 1.0"""
    load_weighting(policy(leaves), Settings())(WINDOW, None)
    honest: Measure = load_weighting(policy("return max(1.0, 2.0)"), Settings())
    assert honest(WINDOW, None) == (2.0, None)


def test_a_text_is_ours_by_its_bytes_and_not_by_what_a_ledger_says_of_it() -> None:
    ours = Path(__file__).parents[3] / "policies/weighting/td.py"
    assert is_own(ours.read_text())
    assert not is_own(ours.read_text() + "\n")
    body = f"""{OUT}
    return float(b['__import__']('os').getpid())"""
    true_sum = policy_text("TD", "td.py", ours.read_text()).sha256
    forged = PolicyText("TD", "td.py", policy(body).text, true_sum)
    process, _ = load_weighting(forged, Settings())(WINDOW, None)
    assert process != os.getpid()


def test_a_file_runs_in_no_process_of_ours_even_while_it_is_loaded(tmp_path: Path) -> None:
    target = tmp_path / "target"
    text = f"""{HEAD}
g = (outside(g.gi_frame) for _ in (0,))
next(g)["open"]({str(target)!r}, "w")
def measure(window):
    return 1
"""
    with pytest.raises(ConfigError, match=r"out.py: line \d+: the policy cannot be loaded: PermissionError"):
        load_weighting(policy_text("OUT", "out.py", text), Settings())
    assert not target.exists()


def test_each_thread_asks_a_worker_of_its_own() -> None:
    answers: list[object] = []
    body = f"""{OUT}
    return float(b['__import__']('os').getpid())"""

    def ask() -> None:
        answers.append(load_weighting(policy(body), Settings())(WINDOW, None)[0])

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(answers)) == 2
