"""Cases of fawkes.toml, and of options."""

from __future__ import annotations

from tests.bad_input.support import CHECK, command, fifo, folder, link, settings

CASES = (
    settings("baseline: empty file (check of a closed port)", "", 1, "0 of 1"),
    settings("unknown key", "perid = '60s'\n", 2, "fawkes.toml: perid: unknown key 'perid'. Did you mean 'period'?"),
    settings(
        "number without unit", "period = 90\n", 2, "fawkes.toml: period: 90 has no unit. Write a duration with its unit"
    ),
    settings("period 0s", 'period = "0s"\n', 2, "fawkes.toml: period: 0 is too little. It must be greater than 0"),
    settings("period -5s", 'period = "-5s"\n', 2, "fawkes.toml: period: '-5s' is not a duration: write a number and a"),
    settings(
        "period 1e9 days",
        'period = "1000000000d"\n',
        2,
        "fawkes.toml: period: '1000000000d' is too long: a duration is at most",
    ),
    settings(
        "period '60 parsecs'",
        'period = "60 parsecs"\n',
        2,
        "fawkes.toml: period: '60 parsecs' is not a duration: write a number",
    ),
    settings(
        "a group that does not exist",
        '[access]\nusers = ["no-such-group"]\n',
        2,
        "fawkes.toml: access.users: there is no group 'no-such-group' on this machine. Name one that",
    ),
    settings(
        "a group as a number",
        "[access]\nviewers = 7\n",
        2,
        "fawkes.toml: access.viewers: 7 is no list of groups. Write names of Unix groups",
    ),
    settings(
        "a playbook that is none",
        'playbooks = ["nodes"]\n',
        2,
        "fawkes.toml: playbooks: there is no playbook 'nodes'. A site may replace lease, node, hadoop, job, kept, "
        "moving",
    ),
    settings(
        "a playbook without a file",
        'playbooks = ["node"]\n',
        2,
        "fawkes.toml: playbooks: the site has no file ",
    ),
    settings(
        "sample_every > period",
        'period = "10s"\nsample_every = "20s"\n',
        2,
        "fawkes.toml: sample_every: samples every 20s are too few for a period",
    ),
    settings(
        "tau and share_error",
        "tau = 1\nshare_error = 0.1\n",
        2,
        "fawkes.toml: tau: tau and share_error are both given. Give one:",
    ),
    settings(
        "admission unknown",
        'admission = "justise"\n',
        2,
        "fawkes.toml: admission: there is no admission policy 'justise'. Did you mean 'justice'?",
    ),
    settings(
        "admission_parameters for fifo",
        "admission_parameters = { window = 3 }\n",
        2,
        'fawkes.toml: admission_parameters: has no effect with admission = "fifo". Choose',
    ),
    settings("tau nan", "tau = nan\n", 2, "fawkes.toml: tau: nan is wrong: it must be a finite number"),
    settings("tau -1", "tau = -1\n", 2, "fawkes.toml: tau: -1 is too small. It must be at least 0"),
    settings(
        "max_moves '120%'",
        'max_moves = "120%"\n',
        2,
        "fawkes.toml: max_moves: '120%' is no share of the nodes. Write a",
    ),
    settings(
        "confirmations 10**20",
        "confirmations = 100000000000000000000\n",
        2,
        "fawkes.toml: confirmations: the number is too large. Whole numbers go",
    ),
    settings(
        "policy that is no policy: /etc/passwd",
        'policy = "/etc/passwd"\n',
        2,
        "fawkes.toml: policy: '/etc/passwd' is not a .py file. Give",
    ),
    settings(
        "policy missing .py",
        'policy = "policies/nosuch.py"\n',
        2,
        "fawkes.toml: policy: 'policies/nosuch.py' is not a file. Give the",
    ),
    settings(
        "policy_parameters wrong type",
        'policy = "RU"\npolicy_parameters = { psi = "x" }\n',
        2,
        "fawkes.toml: policy_parameters.psi: 'x' is text, not a number",
    ),
    settings(
        "preset unknown 'Steady'",
        'preset = "Steady"\n',
        2,
        "fawkes.toml: preset: there is no preset 'Steady'. Did you mean",
    ),
    settings(
        "two keys twice",
        'period = "60s"\nperiod = "90s"\n',
        2,
        "fawkes.toml: line 2, column 15: is not valid TOML: cannot overwrite a",
    ),
    settings("fanout 0", "[ssh]\nfanout = 0\n", 2, "fawkes.toml: ssh.fanout: 0 is too small. It must be at least 1"),
    settings(
        "fanout 10**9",
        "[ssh]\nfanout = 1000000000\n",
        2,
        "fawkes.toml: ssh.fanout: 1,000,000,000 is too large. It may be at",
    ),
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
    settings("confirmations 10,000", "confirmations = 10000\n", 2, "fawkes.toml: confirmations: 10,000 is too large"),
    settings(
        "a policy's parameter of 1e300",
        'policy = "RU"\npolicy_parameters = { psi = 1e300 }\n',
        2,
        "fawkes.toml: policy_parameters.psi: 1e+300 is too large",
    ),
    settings("20 faults and more", "".join(f"k{n} = 1\n" for n in range(50)), 2, "fawkes.toml: k0: unknown key 'k0'"),
    command("cli", "demo --hosts 0", ("demo", "--hosts", "0"), 2, "Invalid value for '--hosts': 0 is not in the range"),
    command(
        "cli", "demo --hosts -1", ("demo", "--hosts", "-1"), 2, "Invalid value for '--hosts': -1 is not in the range"
    ),
)
