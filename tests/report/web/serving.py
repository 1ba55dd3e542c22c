"""`fawkes web` as a process of its own, on a free port."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_SCRIPT = """
import sys
from pathlib import Path
from fawkes.report.web import serve
serve.REQUEST_S = float(sys.argv[2])
serve.serve(Path(sys.argv[1]), port=0, key="", names=(), ready=lambda port: print(port, flush=True))
"""


@contextmanager
def served(folder: Path, request_s: float = 10.0) -> Iterator[tuple[str, Callable[[], object]]]:
    """The address of the page of a state folder, and a function that ends its process.

    A connection without a whole request is closed after ``request_s``.
    """
    command = [sys.executable, "-c", _SCRIPT, str(folder), str(request_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())

            def end() -> object:
                process.kill()
                return process.wait()

            yield f"http://127.0.0.1:{port}/", end
        finally:
            process.kill()
