"""Exit codes, and the kinds of errors that end with them."""

from __future__ import annotations

from docs.make.table import table
from fawkes.base import errors
from fawkes.base.errors import ExitStatus, FawkesError
from fawkes.cli.main import CUT_OFF, INTERRUPTED

MEANINGS = {
    ExitStatus.DONE: "Done.",
    ExitStatus.FAILED: "Failed. The message says why.",
    ExitStatus.USAGE: "The command line or a file is wrong. Nothing was done.",
    ExitStatus.CHANGES: "`fawkes verify` alone: another version of Fawkes decided some steps in another way.",
    ExitStatus.PARTIAL: "Some of it was done and some was not. Both are listed. `fawkes record`: some jobs have no "
    "history. `fawkes whatif`: policies are ranked, but the model does not reproduce the record. `fawkes replay`: some "
    "jobs did not succeed. Commands that read: the controller does not answer, or decides nothing, and what is shown "
    "may be out of date.",
    ExitStatus.TIMED_OUT: "It took longer than its deadline, or the controller that runs does not answer.",
    ExitStatus.REFUSED: "Refused for safety. Nothing was done.",
    ExitStatus.ANOTHER_CONTROLLER: "Another controller is in charge.",
    INTERRUPTED: "Interrupted by Ctrl-C.",
    CUT_OFF: "Whoever reads its output has stopped, such as `head`.",
}


def exit_codes() -> str:
    """Each exit code and its meaning."""
    return table(["code", "meaning"], [(str(int(status)), meaning) for status, meaning in MEANINGS.items()])


def errors_of() -> list[type[FawkesError]]:
    """All kinds of errors, in the order in which they are written."""
    return [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, FawkesError)]


def errors_table() -> str:
    """Each kind of error, its exit code and the first line of its docstring."""
    rows = [
        (f"`{kind.__name__}`", str(int(kind.exit_status)), (kind.__doc__ or "").split("\n")[0].replace("``", "`"))
        for kind in errors_of()
    ]
    return table(["error", "code", "what it says"], rows)
