"""Reasons about masters that are lost, moved, restored and copied, and their sentences."""

from __future__ import annotations

from fawkes.core.values.model import Reason

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
        Reason(
            "writes-lost",
            {
                "cluster": "c",
                "blocks": 3,
                "total_bytes": 5 << 20,
                "files": ["/x{1}"],
                "files_count": 2,
                "writers": [
                    {
                        "application": "application_1",
                        "host": "",
                        "blocks": 2,
                        "total_bytes": 4 << 20,
                        "name": "pi",
                        "user": "ann",
                    },
                    {"application": "", "host": "n7", "blocks": 1, "total_bytes": 1 << 20},
                ],
                "writers_count": 3,
                "jobs": ["j-1"],
                "unlisted": ["n3"],
            },
        ),
        "c lost what was written last before its masters were lost: the end of jobs that had ended (j-1), whose output "
        "may not be whole; files: /x{1} and 1 more; 3 blocks (5.2 MB) that no file of the copy has: 2 blocks (4.2 MB) "
        "by application_1 (pi of ann), 1 block (1.0 MB) by clients on n7 and 1 more; blocks on n3, which were not "
        "counted",
    ),
    (
        Reason(
            "writes-lost",
            {
                "cluster": "c",
                "blocks": 1,
                "total_bytes": 7,
                "writers": [{"blocks": 1, "total_bytes": 7}],
                "unlisted": [],
            },
        ),
        "c lost what was written last before its masters were lost: 1 block (7 B) that no file of the copy has: 1 "
        "block (7 B) by clients that are not known",
    ),
    (
        Reason(
            "masters-move",
            {"cluster": "c", "instead_of": "n1", "node": "n2", "cause": "leaves", "by": "", "by_standby": True},
        ),
        "The masters of c go from n1 to n2: their node goes out of service. The second NameNode takes over there",
    ),
    (
        Reason(
            "masters-moved",
            {"cluster": "c", "instead_of": "n1", "node": "n2", "took_us": 3_000_000, "lacks_us": 0, "by_standby": True},
        ),
        "The masters of c serve on n2 instead of n1 after 3s; no change that the NameNode acknowledged is lost",
    ),
    (
        Reason("standby-ready", {"cluster": "c", "node": "n2", "error": ""}),
        "The second NameNode of c on n2 can take over",
    ),
    (
        Reason("standby-unready", {"cluster": "c", "node": "n2", "error": "it does not answer"}),
        "The second NameNode of c on n2 cannot take over: it does not answer",
    ),
    (
        Reason(
            "standby-arm", {"cluster": "c", "node": "n2", "journal": ["n1", "n2", "n4"], "before": ["n4", "n2", "n1"]}
        ),
        "The second NameNode of c is brought up on n2, with the journal on n[1-2,4]",
    ),
    (
        Reason(
            "standby-arm", {"cluster": "c", "node": "n2", "journal": ["n1", "n2", "n4"], "before": ["n1", "n2", "n3"]}
        ),
        "The second NameNode of c is brought up on n2, with the journal on n[1-2,4] instead of n[1-3]",
    ),
    (
        Reason("standby-armed", {"cluster": "c", "node": "n2", "journal": ["n1", "n2", "n4"]}),
        "The second NameNode of c is up on n2 and follows the journal on n[1-2,4]",
    ),
    (
        Reason("standby-not-armed", {"cluster": "c", "error": "n2: no disk", "tries": 2}),
        "The second NameNode of c is not up yet (attempt 2): n2: no disk",
    ),
    (
        Reason("standby-given-up", {"cluster": "c", "journal": ["n1", "n2", "n3"]}),
        "The journal of c on n[1-3] is given up, because its masters come back from a copy. c has no second NameNode "
        "until it has a new journal",
    ),
    (
        Reason("journal-wanted", {"cluster": "c", "journal": ["n1", "n2", "n3"], "jobs": []}),
        "c is to have a journal again, on n[1-3]: its NameNode starts again for that",
    ),
    (
        Reason("journal-wanted", {"cluster": "c", "journal": ["n1", "n2", "n3"], "jobs": ["c-1", "c-2"]}),
        "c is to have a journal again, on n[1-3]: its NameNode starts again for that. It waits for c-[1-2] to end, and "
        "no other job begins",
    ),
    (
        Reason("journal-waits", {"cluster": "c", "error": "waits for applications that users run: app_1"}),
        "The NameNode of c does not start again for a journal yet: waits for applications that users run: app_1",
    ),
    (
        Reason("journal-begin", {"cluster": "c", "node": "n1", "journal": ["n1", "n2", "n3"]}),
        "The NameNode of c on n1 starts again with a new journal on n[1-3]. No job runs, and no change that the "
        "NameNode acknowledged is at risk",
    ),
    (
        Reason("journal-begun", {"cluster": "c", "node": "n1", "journal": ["n1", "n2", "n3"], "took_us": 9_000_000}),
        "The NameNode of c on n1 writes its new journal on n[1-3] after 9s",
    ),
    (
        Reason("journal-not-begun", {"cluster": "c", "error": "n2: no disk", "tries": 2}),
        "c has no new journal yet (attempt 2): n2: no disk",
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
        Reason("masters-stay", {"cluster": "c", "node": "n2"}),
        "The masters of c stay where they are: n2 is not in service any more",
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
        Reason("masters-lost", {"cluster": "c", "cause": "lost"}),
        "The masters of c are lost, so nobody knows what is in its HDFS and on its YARN: `fawkes status c` says "
        "what to do",
    ),
    (
        Reason("masters-moving", {"cluster": "c", "cause": "lost"}),
        "The masters of c are moving already: `fawkes status c` shows how far that is",
    ),
    (
        Reason("no-such-master", {"cluster": "c", "node": "n9", "able": ["n2", "n3"]}),
        "n9 is no other core node in service of c, or not one of its journal: the masters of c can go to n2, n3",
    ),
    (
        Reason("no-such-master", {"cluster": "c", "node": None, "able": []}),
        "c has no other core node in service that could run its masters",
    ),
)
