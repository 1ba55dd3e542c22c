"""Reasons about masters that are lost, moved, restored and copied, and their sentences."""

from __future__ import annotations

from fawkes.core.model import Reason

MOVED: tuple[tuple[Reason, str], ...] = (
    (
        Reason("masters-move", {"cluster": "c", "instead_of": "n1", "node": "n2", "cause": "lost", "by": ""}),
        "The masters of c go from n1 to n2: they are lost",
    ),
    (
        Reason("masters-move", {"cluster": "c", "instead_of": "n1", "node": "n2", "cause": "restore", "by": "ann"}),
        "The masters of c go from n1 to n2: from the kept copy (ann)",
    ),
    (
        Reason("masters-moved", {"cluster": "c", "instead_of": "n1", "node": "n2", "took_us": 9_000_000}),
        "The masters of c serve on n2 instead of n1 after 9s",
    ),
    (
        Reason(
            "masters-moved",
            {
                "cluster": "c",
                "instead_of": "n1",
                "node": "n2",
                "took_us": 9_000_000,
                "lacks_us": 2_000_000,
                "missing": ["/a", "/b"],
                "missing_files": 7,
                "open": ["/c"],
                "ended": [{"id": "application_1", "name": "pi", "user": "ann"}],
            },
        ),
        "The masters of c serve on n2 instead of n1 after 9s; what was written in the last 2s before is lost; no "
        "node that answers has all blocks of: /a, /b and 5 more; being written at that moment: /c; applications that "
        "have ended with the old masters: application_1 (pi of ann)",
    ),
    (
        Reason("masters-held", {"cluster": "c", "error": "there is no copy of their data"}),
        "The masters of c stay lost for now: there is no copy of their data",
    ),
    (
        Reason("masters-wait", {"cluster": "c", "error": "waits for applications that users run: app_1"}),
        "The masters of c do not move yet: waits for applications that users run: app_1",
    ),
    (
        Reason("masters-answer", {"cluster": "c"}),
        "The masters of c answer: there is nothing to take over or to restore",
    ),
    (
        Reason("masters-leave", {"cluster": "c", "node": "n1", "why": "a broken fan"}),
        "The masters of c are to leave n1: a broken fan",
    ),
    (Reason("move-asked", {"cluster": "c", "by": "ann"}), "ann moves the masters of c"),
    (
        Reason("restore-asked", {"cluster": "c", "node": "n2", "by": "ann"}),
        "ann brings c back from its kept copy on n2",
    ),
    (
        Reason("displaced", {"job": "j", "cluster": "c", "attempt": 2}),
        "Job j begins again (attempt 2): it had ended with the masters of c. This is no retry",
    ),
    (
        Reason("not-copied", {"cluster": "c", "within_us": 60_000_000}),
        "The data of the masters of c has not been copied for 1m00s",
    ),
    (Reason("copied-again", {"cluster": "c"}), "The data of the masters of c is copied again"),
    (
        Reason("not-running", {"cluster": "c", "life": "loading"}),
        "c is loading: only the masters of a running MR-cluster can move",
    ),
    (
        Reason("masters-moving", {"cluster": "c", "cause": "lost"}),
        "The masters of c are moving already: `fawkes status c` shows how far that is",
    ),
    (
        Reason("no-such-master", {"cluster": "c", "node": "n9", "able": ["n2", "n3"]}),
        "n9 is no core node in service of c. Its masters can go to n2, n3",
    ),
    (
        Reason("no-such-master", {"cluster": "c", "node": None, "able": []}),
        "c has no other core node in service that could run its masters",
    ),
)
