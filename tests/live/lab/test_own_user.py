"""An MR-cluster with its own Unix user on a node: what a hostile job of that user cannot do, and what a wipe finds."""

from __future__ import annotations

import os
import subprocess

import pytest

from fawkes.live.lab import Lab
from fawkes.playbook import Exit, Facts, Lease
from playbooks import hadoop, job, node, restoring
from playbooks import lease as leases
from tests.live.lab.support import lease, ok, on_host, output_of, tried

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user on the hosts of a lab"),
]

HOST = "node01"


def as_user(lab: Lab, user: str, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script as a job of the user would: with the user's rights, and none of Fawkes's marks."""
    become = f'exec setpriv --reuid {user} --regid {user} --init-groups env -i "PATH=$PATH" HOME=/srv/users/{user} '
    return on_host(lab, HOST, f"cd /\n{become}/bin/sh -s <<'JOB'\n{script}\nJOB\n")


def taken(lab: Lab, right: Lease, user: str, leftovers: str = "remove") -> Lease:
    ok(lab, HOST, leases.take(right))
    ok(lab, HOST, node.prepare(right, user, leftovers))
    return right


def given_back(lab: Lab, right: Lease) -> Facts:
    ok(lab, HOST, leases.close(right))
    facts = ok(lab, HOST, node.wipe(right, grace_s=0.2))
    ok(lab, HOST, leases.release(right))
    return facts


# A thread goes on after the first one has ended: such a process looks like a dead one.
HOSTILE = r"""
(setsid /bin/sh -c 'trap "" TERM HUP; while :; do sleep 1; done' >/dev/null 2>&1 &)
(setsid /usr/bin/python3 -c "
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(1000,)).start()
ctypes.CDLL(None).pthread_exit(0)" >/dev/null 2>&1 &)
mkdir -p /tmp/deep/er ~/.ssh; echo secret | tee /tmp/deep/er/a /var/tmp/b /dev/shm/c ~/.ssh/authorized_keys >/dev/null
chmod 000 /tmp/deep/er
touch "/tmp/x
@clean=yes"
mkdir WORK/clusters/first/shut; touch WORK/clusters/first/shut/x; chmod 000 WORK/clusters/first/shut
ipcmk -M 4096 >/dev/null
for file in WORK/lease WORK/.lock WORK/users/first WORK/new WORK/clusters/next; do
    (echo pool=mine >>"$file") 2>/dev/null && echo "wrote $file"
done
sleep 0.3
"""


def test_a_hostile_job_leaves_nothing_and_writes_nothing_of_fawkes(lab: Lab) -> None:
    right = taken(lab, lease(HOST), "alpha")
    hostile = as_user(lab, "alpha", HOSTILE.replace("WORK", str(right.work_dir)))
    assert hostile.stdout == ""
    assert len(ok(lab, HOST, node.verify(right)).all("process")) == 3

    facts = given_back(lab, right)

    assert facts["clean"] == "yes"
    assert facts["removed"] == "yes"
    assert set(facts.all("leftover")) == {
        "/tmp/deep", "/tmp/deep/er", "/var/tmp/b", "/dev/shm/c", "/srv/users/alpha/.ssh/authorized_keys", "ipc shm 0",
        "/tmp/x?@clean=yes",
    }  # fmt: skip
    assert output_of(lab, HOST, "find /tmp /var/tmp /dev/shm /srv/users -user alpha ! -path /srv/users/alpha") == ""
    left = f"for name in clusters users; do [ ! -e {right.work_dir}/$name ] || echo $name; done"
    assert output_of(lab, HOST, left) == ""


@pytest.mark.nightly
def test_what_is_only_told_stays(lab: Lab) -> None:
    right = taken(lab, lease(HOST), "beta", "tell")
    as_user(lab, "beta", "echo x >/tmp/mine")
    facts = given_back(lab, right)
    assert (facts["leftovers"], facts.all("leftover"), facts["removed"]) == ("1", ("/tmp/mine",), "no")
    assert output_of(lab, HOST, "cat /tmp/mine; rm /tmp/mine") == "x"


def test_steps_run_as_the_user_and_others_cannot_look(lab: Lab) -> None:
    right = taken(lab, lease(HOST), "alpha")
    ok(lab, HOST, hadoop.configure(right, {"core-site.xml": '<it\'s "$(quoted)">\n', "doors.key": "key\n"}))
    ok(lab, HOST, job.start(right, "j", 1, ["/bin/sh", "-c", "id -un; cat ../../../conf/doors.key"]))
    for _ in range(100):
        if (seen := ok(lab, HOST, job.look(right.folders, "j", 1)))["state"] == "finished":
            break
    assert seen["exit"] == "0"
    assert output_of(lab, HOST, f"cat {right.folders.jobs}/j.1/stdout") == "alpha\nkey"
    assert output_of(lab, HOST, f"cat {right.folders.conf}/core-site.xml") == '<it\'s "$(quoted)">'
    assert output_of(lab, HOST, f"stat -c '%U %a' {right.folders.root} {right.folders.conf}") == "alpha 700\nalpha 700"
    assert "Permission denied" in as_user(lab, "beta", f"ls {right.folders.root}").stderr
    given_back(lab, right)


def test_a_user_who_is_not_alone_is_refused_before_anything_is_made(lab: Lab) -> None:
    right = lease(HOST)
    ok(lab, HOST, leases.take(right))
    as_user(lab, "alpha", "(setsid sleep 300 >/dev/null 2>&1 &)")
    refused = tried(lab, HOST, node.prepare(right, "alpha", "remove"))
    assert refused.returncode == Exit.UNFIT_USER
    assert "alpha has processes here, which a wipe would end" in refused.stderr
    assert output_of(lab, HOST, f"ls {right.work_dir}") == "lease"
    output_of(lab, HOST, "pkill -KILL -u alpha; while pgrep -r S,R,D -u alpha >/dev/null; do sleep 0.05; done")


def test_another_user_than_before_is_refused(lab: Lab) -> None:
    right = taken(lab, lease(HOST), "alpha")
    refused = tried(lab, HOST, node.prepare(right, "beta", "remove"))
    assert (refused.returncode, refused.stderr.strip()) == (
        Exit.UNFIT_USER,
        "first runs as alpha on this node, not as beta",
    )
    given_back(lab, right)


def test_users_that_cannot_be_are_told(lab: Lab) -> None:
    facts = ok(lab, HOST, node.fit_users(["alpha", "nobody-here", "root"]))
    assert facts.under("unfit") == {
        "alpha": "",
        "nobody-here": "there is no user nobody-here",
        "root": "jobs of root own their nodes",
    }


@pytest.mark.nightly
def test_a_copy_that_is_to_be_read_arrives_as_the_users(lab: Lab) -> None:
    """The tar comes on the standard input, which a step of another user does not have by itself."""
    right = taken(lab, lease(HOST), "alpha")
    receive = restoring.receive(right).text
    done = on_host(lab, HOST, f"echo 7 >/tmp/seven; tar -cf - -C /tmp seven | {{\n{receive}\n}}\n")
    assert done.returncode == 0, done
    file = restoring.place(right.folders) / "nn/current/seven"
    assert output_of(lab, HOST, f"cat {file}; stat -c %U {file}; rm /tmp/seven").split() == ["7", "alpha"]
    given_back(lab, right)
