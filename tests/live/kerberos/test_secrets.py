"""Secrets of jobs: named in the job file, read when the job begins, and in no value that is stored or shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError, RefusedError, UserError
from fawkes.config.clusters.details import JobDetails
from fawkes.config.jobs.jobs import job_of, load_jobs
from fawkes.core.state.state import State
from fawkes.core.values.events import Submitted
from fawkes.core.values.model import ClusterId, JobId, JobSpec
from fawkes.live.controller.access import Access, Gate, Owners
from fawkes.live.controller.endpoint import Peer
from fawkes.live.kerberos.secrets import Secrets
from fawkes.store.record import text_of
from tests.support.pools import agreed

JOB = """
kind = "class"
class = "org.example.Main"
[properties]
"mapreduce.map.memory.mb" = 512
"fs.s3a.access.key" = { env = "OUR_KEY" }
"fs.s3a.secret.key" = { file = "key.txt" }
"fs.s3a.session.token" = { secret = "token" }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "key.txt").write_text("hush-file\n")
    (tmp_path / "key.txt").chmod(0o600)
    (tmp_path / "secrets").mkdir(mode=0o700)
    (tmp_path / "secrets" / "token").write_text("hush-site")
    (tmp_path / "secrets" / "token").chmod(0o600)
    return tmp_path / "job.toml"


def test_a_job_carries_names_and_the_controller_reads_values(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_KEY", "hush-env")
    (job,) = load_jobs(file, "c-1")
    details = JobDetails.of(job.details)
    assert details.properties == {"mapreduce.map.memory.mb": "512"}
    assert Secrets(file.parent / "secrets").values(details.secrets) == {
        "fs.s3a.access.key": "hush-env",
        "fs.s3a.secret.key": "hush-file",
        "fs.s3a.session.token": "hush-site",
    }
    assert "hush" not in text_of(Submitted(at_us=0, spec=job, by="ann")), "the ledger stores this"


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ({"env": "NO_SUCH_VARIABLE"}, "the controller has no environment variable 'NO_SUCH_VARIABLE'"),
        ({"file": "/no/such/file"}, "the secret /no/such/file cannot be read: No such file"),
        ({"secret": "nothing"}, "secrets/nothing cannot be read"),
        ({}, "there is no secret"),
        ({"file": "/shared/x", "env": "HOME"}, "there is no secret"),
    ],
)
def test_a_secret_that_cannot_be_had_names_its_key(file: Path, reference: dict[str, str], says: str) -> None:
    with pytest.raises(UserError, match=says) as raised:
        Secrets(file.parent / "secrets").values({"fs.key": reference})
    assert raised.value.where == "fs.key"


def test_a_secret_that_others_can_read_is_none(file: Path) -> None:
    (file.parent / "key.txt").chmod(0o640)
    with pytest.raises(UserError, match=r"other users can reach the secret .* Run `chmod 600"):
        Secrets().values({"k": {"file": str(file.parent / "key.txt")}})


@pytest.mark.parametrize(
    "value", [{"env": "A B"}, {"env": 7}, {"secret": "../x"}, {"secret": ""}, {"vault": "x"}, {"env": "A", "file": "b"}]
)
def test_what_names_no_secret_is_refused(tmp_path: Path, value: object) -> None:
    said = {"kind": "class", "class": "M", "properties": {"k": value}}
    with pytest.raises(ConfigError, match="properties"):
        job_of(said, cluster="c", file="j.toml", folder=tmp_path, default_id="j")


def test_an_argument_is_no_place_for_a_secret(tmp_path: Path) -> None:
    said = {"kind": "class", "class": "M", "args": [{"env": "KEY"}]}
    with pytest.raises(ConfigError, match=r"args.* give a secret in \[job.properties\]"):
        job_of(said, cluster="c", file="j.toml", folder=tmp_path, default_id="j")


@pytest.mark.parametrize(
    ("reference", "may"),
    [({"env": "X"}, False), ({"secret": "x"}, False), ({"file": "/etc/x"}, False), ({}, False), (None, True)],
)
def test_a_user_has_no_secret_of_the_controller(tmp_path: Path, reference: dict[str, str] | None, may: bool) -> None:
    owners = Owners(lambda: [agreed("c", "ann")], State())
    gate = Gate(Access(users=frozenset({7})), owners, tmp_path, own_uid=lambda: 1)
    own = {"file": str(tmp_path / "mine")}
    details = JobDetails(kind="class", secrets={"k": own if reference is None else reference})
    spec = JobSpec(id=JobId("j"), cluster=ClusterId("c"), details=details.plain())
    event, peer = Submitted(at_us=0, spec=spec, by="ann"), Peer(1, 1001, "ann", frozenset({7}))
    try:
        gate.act(peer, "submit", event)
    except RefusedError:
        assert not may
    else:
        assert may
