"""Cases of MR-clusters and jobs."""

from __future__ import annotations

from tests.bad_input.support import JOB, REQUEST, SUBMIT, cluster, command, fifo, link

CASES = (
    command(
        "cluster",
        "no such name",
        ("request", "nosuch", "--dry-run"),
        2,
        "clusters/nosuch.toml: there is no such file. MR-cluster files are in",
    ),
    command(
        "cluster",
        "name '../../etc/passwd'",
        ("request", "/etc/passwd", "--dry-run"),
        2,
        "/etc/passwd: line 1, column 5: is not valid TOML: expected '=' after",
    ),
    command(
        "cluster",
        "a FIFO",
        REQUEST,
        2,
        "clusters/c.toml: is a named pipe, not a file",
        files={"clusters/c.toml": None},
        prepare=fifo("clusters/c.toml"),
        risky=True,
    ),
    cluster(
        "2,000 scratch folders",
        "min_nodes = 3\nscratch = [" + "".join(f'"/s{n}",' for n in range(2000)) + "]\n",
        2,
        "clusters/c.toml: scratch: has 2,000 entries",
    ),
    command(
        "cluster",
        "data with a link to nothing",
        REQUEST,
        2,
        "clusters/c.toml: data[#1].from: ",
        files={"clusters/c.toml": 'min_nodes = 3\n[[data]]\nfrom = "../in"\nto = "/in"\n', "in/x": "x"},
        prepare=link("in/gone", "nowhere"),
    ),
    command("job", "a FIFO", SUBMIT, 2, "j.toml: is a named pipe, not a file", prepare=fifo("j.toml"), risky=True),
    command(
        "job",
        "files a FIFO",
        SUBMIT,
        2,
        "j.toml: files: there is no file ",
        files={"j.toml": JOB + 'files = ["pipe"]\n'},
        prepare=fifo("pipe"),
        risky=True,
    ),
    command(
        "job",
        "--tasks 10**30",
        ("submit", "c", "--jar", "examples", "--tasks", "9" * 30, "--dry-run", "--", "pi"),
        2,
        "the command line: tasks: 999",
    ),
    command(
        "job",
        "--time-limit of digits without an end",
        ("submit", "c", "--jar", "examples", "--time-limit", "9" * 400 + "d", "--dry-run", "--", "pi"),
        2,
        "the command line: time_limit: '999",
    ),
)
