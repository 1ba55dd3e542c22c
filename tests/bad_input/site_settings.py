"""Cases of fawkes.toml, and of options."""

from __future__ import annotations

from tests.bad_input.support import CHECK, command, fifo, folder, link

CASES = (
    command(
        "settings",
        "a directory",
        CHECK,
        2,
        "fawkes.toml: is a folder, not a file. Name a regular file",
        prepare=folder("fawkes.toml"),
    ),
    command(
        "settings",
        "a FIFO",
        CHECK,
        2,
        "fawkes.toml: is a named pipe, not a file",
        prepare=fifo("fawkes.toml"),
        risky=True,
    ),
    command(
        "settings",
        "a link to itself",
        CHECK,
        2,
        "fawkes.toml: is a link that leads back to itself",
        prepare=link("fawkes.toml", "fawkes.toml"),
    ),
    command(
        "settings",
        "a policy that is a FIFO",
        CHECK,
        2,
        "fawkes.toml: policy: ",
        files={"fawkes.toml": 'policy = "p.py"\n'},
        prepare=fifo("p.py"),
        risky=True,
    ),
    command("cli", "demo --hosts 0", ("demo", "--hosts", "0"), 2, "Invalid value for '--hosts': 0 is not in the range"),
    command(
        "cli", "demo --hosts -1", ("demo", "--hosts", "-1"), 2, "Invalid value for '--hosts': -1 is not in the range"
    ),
)
