"""AccaSim, in a virtual environment of its own that is made when it is missing, on a log of rigid jobs."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.figures import Say
from bench.tools import run_or_fail

NAME = "AccaSim 1.1.3"
_VENV = Path(__file__).parents[1] / ".venv-accasim"
_CORES = 4
#: it is of 2020 and imports what Python 3.10 has moved; times the run as its own process does, without loading
_PROGRAM = """
import collections, collections.abc, json, sys, time
for name in collections.abc.__all__:
    setattr(collections, name, getattr(collections.abc, name))
from accasim.base.allocator_class import FirstFit
from accasim.base.scheduler_class import FirstInFirstOut
from accasim.base.simulator_class import Simulator
began = time.process_time()
dispatcher, nothing = FirstInFirstOut(FirstFit()), {"scheduling_output": False, "statistics_output": False}
Simulator(sys.argv[1], sys.argv[2], dispatcher, **nothing).start_simulation()
print(json.dumps(time.process_time() - began))
"""


def python(say: Say) -> Path:
    """The Python of an environment with AccaSim; FawkesError when it cannot be made."""
    program = _VENV / "bin" / "python"
    if not program.exists():
        say(f"making {_VENV.name} with {NAME}")
        run_or_fail(_VENV, sys.executable, "-m", "venv", str(_VENV))
        (_VENV / ".gitignore").write_text("*\n")
        run_or_fail(_VENV, str(program), "-m", "pip", "install", "--quiet", "accasim==1.1.3")
    return program


def run(python: Path, log: Path, nodes: int, say: Say) -> float:
    """Microseconds of the processor for each job of the log: first in, first out, first fit, nothing written."""
    say(f"simulator: {NAME}")
    jobs = sum(1 for line in log.read_text().splitlines() if len(line.split()) == 18 and not line.startswith(";"))
    machine = {
        "system_name": "bench",
        "start_time": 0,
        "equivalence": {"processor": {"core": 1}},
        # Without memory it stops at the first job that asks for some.
        "groups": {"g0": {"core": _CORES, "mem": 10**9}},
        "resources": {"g0": nodes},
    }
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "machine.json"
        config.write_text(json.dumps(machine))
        command = [str(python), "-c", _PROGRAM, str(log), str(config)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder, check=True)
    return 1e6 * float(done.stdout.split()[-1]) / jobs
