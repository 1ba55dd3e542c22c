"""Labs as the rest of Fawkes sees them: bring one up, find one, do something to its hosts, run commands inside."""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

from fawkes.base.errors import DeadlineError, FawkesError, RefusedError, UserError
from fawkes.live.lab.control import COMMIT, NoWardenError, WardenLine, error_from_data, refusal_from_data
from fawkes.live.lab.files import write_site
from fawkes.live.lab.folder import STATE, LabFolder
from fawkes.live.lab.inside import kernel
from fawkes.live.lab.prepare import BLUEPRINT, LabPlan, prepare
from fawkes.live.lab.spec import LabSpec, check_name, name_of_site

_BUILD_LIMIT_S = 120.0
_DOWN_LIMIT_S = 30.0
_ENTER = Path(__file__).parent / "inside" / "enter.py"
_FIRST_PROCESS = 1
_JOINED = {
    "user": kernel.NEW_USERS,
    "mnt": kernel.NEW_MOUNTS,
    "net": kernel.NEW_NETWORK,
    "pid": kernel.NEW_PIDS,
}


@dataclass(frozen=True)
class HostStatus:
    """The standing of a host: ``state`` is on, off or paused; ``network`` is ok or cut."""

    host: str
    address: str
    state: str
    network: str


@dataclass(frozen=True)
class Lab:
    """A lab that is up. Leaving it as a context manager takes it down."""

    name: str
    site: Path
    fresh: bool = False
    """Whether `up` made it just now; it was there already otherwise."""

    def status(self) -> list[HostStatus]:
        """All hosts, in order."""
        return [HostStatus(**row) for row in self._ask("status")]

    def kill(self, host: str) -> HostStatus:
        """Power failure: all processes of the host end at once; its disks stay."""
        return HostStatus(**self._ask("kill", host))

    def start(self, host: str) -> HostStatus:
        """Power on again; back when its sshd listens."""
        return HostStatus(**self._ask("start", host))

    def pause(self, host: str) -> HostStatus:
        """Stop all processes of the host; its network goes on answering pings only."""
        return HostStatus(**self._ask("pause", host))

    def resume(self, host: str) -> HostStatus:
        """Let a paused host go on."""
        return HostStatus(**self._ask("resume", host))

    def cut(self, host: str) -> HostStatus:
        """Cut the network cables of the host; ``link`` is the link between two sites."""
        return HostStatus(**self._ask("cut", host))

    def mend(self, host: str) -> HostStatus:
        """Mend what `cut` cut."""
        return HostStatus(**self._ask("mend", host))

    def popen(self, command: Sequence[str | os.PathLike[str]], **options: Any) -> subprocess.Popen[Any]:
        """Start a command on the controller's side of the lab: the lab's network and names, the machine's files.

        ``options`` are those of `subprocess.Popen`. Signals sent to the process reach the command, and a SIGKILL
        ends both. FAWKES_SITE names the lab's site folder unless the environment has it already.
        """
        with self._entrance(command) as (enter, handle):
            return subprocess.Popen(
                enter,
                env=self._environment(options.pop("env", None)),
                pass_fds=(handle, *options.pop("pass_fds", ())),
                **options,
            )

    def become(self, command: Sequence[str | os.PathLike[str]]) -> NoReturn:
        """Run a command as `popen` does, in place of the calling process."""
        with self._entrance(command) as (enter, handle):
            os.set_inheritable(handle, True)
            os.execve(enter[0], enter, self._environment(None))  # noqa: S606

    @contextmanager
    def _entrance(self, command: Sequence[str | os.PathLike[str]]) -> Iterator[tuple[list[str], int]]:
        """The command line that runs ``command`` inside, and the handle of the warden that it must inherit."""
        with self._line() as line:
            warden = line.warden_pid()
            handle = os.pidfd_open(warden)
            flags = sum(flag for name, flag in _JOINED.items() if _is_other(warden, name))
        try:
            enter = [sys.executable, "-I", "-S", str(_ENTER), str(handle), str(flags), "--"]
            yield [*enter, *(os.fspath(word) for word in command)], handle
        finally:
            os.close(handle)

    def _environment(self, given: Mapping[str, str] | None) -> dict[str, str]:
        environment = dict(os.environ if given is None else given)
        # At the end, so that it hides nothing: `lab exec -- fawkes check` works without an activated venv.
        search = [*filter(None, environment.get("PATH", os.defpath).split(os.pathsep)), os.path.dirname(sys.executable)]
        environment["PATH"] = os.pathsep.join(dict.fromkeys(search))
        environment.setdefault("FAWKES_SITE", str(self.site))
        return environment

    def exec(
        self,
        command: Sequence[str | os.PathLike[str]],
        *,
        input: str | None = None,  # noqa: A002 - the name that subprocess.run has
        timeout_s: float | None = None,
        check: bool = False,
        **options: Any,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as `popen` does and wait for it; its output comes back as text.

        ``stdout=None`` and ``stderr=None`` let it through instead. Errors as those of `subprocess.run`.
        """
        streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        streams.setdefault("stdin", subprocess.DEVNULL if input is None else subprocess.PIPE)
        with self.popen(command, text=True, **streams) as process:
            try:
                out, err = process.communicate(input, timeout_s)
            except BaseException:
                process.kill()
                raise
        if check and process.returncode:
            raise subprocess.CalledProcessError(process.returncode, list(command), out, err)
        return subprocess.CompletedProcess(list(command), process.returncode, out, err)

    def down(self) -> None:
        """End everything of the lab and remove its hosts' disks; the site folder stays."""
        down(self.name)

    def _line(self) -> WardenLine:
        try:
            return WardenLine(LabFolder(self.name).path)
        except NoWardenError as error:
            raise UserError(f"lab {self.name!r} is not up", hint="Bring it up: fawkes lab up") from error

    def _ask(self, verb: str, host: str = "") -> Any:
        with self._line() as line:
            return line.ask(verb, host)

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_: object) -> None:
        self.down()


def find(*, name: str = "", site: Path = Path("lab")) -> Lab:
    """The lab of that name, else of that site folder; UserError when it is not up."""
    folder = LabFolder(check_name(name) if name else name_of_site(site.expanduser().absolute()))
    lab = Lab(folder.name, Path(folder.state().get("site", site)))
    lab.status()
    return lab


def up(spec: LabSpec, *, tell: Callable[[str], None] = lambda _: None) -> Lab:
    """Bring a lab up; when the same lab is up already, that one comes back. ``tell`` hears of what takes long.

    RefusedError when it does not fit into the machine, when the kernel forbids it, when another lab has its name or
    when somebody else's files are in the site folder; nothing is left behind then.
    """
    folder = LabFolder(spec.name)
    with folder.locked() as lock:
        if lock is None:
            return _same_lab(folder, spec)
        try:
            folder.clear()
            _build(folder, lock, spec, prepare(spec, folder.path, tell))
        except BaseException:
            folder.remove()
            raise
    return Lab(spec.name, spec.site, fresh=True)


def down(name: str) -> bool:
    """End everything of the lab of that name, and remove what is left of one that ended by itself.

    True when there was something.
    """
    folder = LabFolder(check_name(name))
    if not folder.path.exists():
        return False
    warden = _warden(folder)
    if warden == _FIRST_PROCESS:
        raise RefusedError("a lab cannot be taken down from inside it", hint="Type this outside of `fawkes lab exec`")
    if warden is not None:
        _end(warden)
    with folder.locked(wait_s=_DOWN_LIMIT_S) as lock:
        if lock is None:
            raise DeadlineError(f"lab {name!r} did not end within {_DOWN_LIMIT_S:.0f} s", where=str(folder.path))
        folder.remove()
    return True


def _same_lab(folder: LabFolder, spec: LabSpec) -> Lab:
    state = folder.state()
    if state.get("spec") == spec.as_data():
        lab = Lab(spec.name, spec.site)
        lab.status()
        return lab
    if not state:
        raise RefusedError(f"lab {spec.name!r} is being brought up or taken down", hint="Try again in a moment")
    raise RefusedError(
        f"another lab {spec.name!r} is up: {state['spec']['hosts']} hosts, site folder {state['site']}",
        hint=f"Take it down first (fawkes lab down --name {spec.name}), or choose another --name",
    )


def _build(folder: LabFolder, lock: int, spec: LabSpec, plan: LabPlan) -> None:
    """Start the warden, wait for its hosts, write the site folder, and only then let the lab outlive this process."""
    log = folder.path / "warden.log"
    command = [sys.executable, "-P", "-m", "fawkes.live.lab.warden", str(folder.path / BLUEPRINT), str(lock)]
    with log.open("wb") as errors:
        starter = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
            pass_fds=(lock,),
        )
    assert starter.stdin is not None
    assert starter.stdout is not None
    warden = None
    with starter.stdin as word, starter.stdout as answers:
        limit = time.monotonic() + _BUILD_LIMIT_S
        try:
            warden = _answer(answers, limit, log)["pid"]
            _answer(answers, limit, log)
            state = folder.write_state({"name": spec.name, "site": str(spec.site), "spec": spec.as_data()}, warden)
            write_site(spec.site, {**plan.site_files, STATE: state})
            word.write(COMMIT)
        except BaseException:
            word.close()
            if warden is not None:
                _end(warden)
            _wait_for_end(answers)
            raise
        finally:
            starter.wait()


def _answer(answers: IO[bytes], limit: float, log: Path) -> dict[str, Any]:
    """The next line from the warden; what it complains about is raised."""
    ready, _, _ = select.select([answers], [], [], max(0.0, limit - time.monotonic()))
    if not ready:
        raise DeadlineError(f"the hosts were not up within {_BUILD_LIMIT_S:.0f} s", where=str(log))
    line = answers.readline()
    if not line:
        raise FawkesError(f"the lab ended while it was being built: {log.read_text().strip()}")
    data: dict[str, Any] = json.loads(line)
    if "errno" in data:
        # Explained out here: the warden's own user namespace has other limits.
        raise explain(refusal_from_data(data), root=os.geteuid() == 0)
    if "error" in data:
        raise error_from_data(data)
    return data


def _wait_for_end(answers: IO[bytes]) -> None:
    """Wait until the last process of a lab that did not come up let go of the pipe."""
    limit = time.monotonic() + _DOWN_LIMIT_S
    while select.select([answers], [], [], max(0.0, limit - time.monotonic()))[0]:
        if not os.read(answers.fileno(), 4096):
            return


def _warden(folder: LabFolder) -> int | None:
    try:
        with WardenLine(folder.path) as line:
            return line.warden_pid()
    except NoWardenError:
        return folder.warden_by_state()


def _end(warden: int) -> None:
    """Kill the first process of a lab, and with it all others, and wait until the kernel is through with them."""
    try:
        handle = os.pidfd_open(warden)
    except ProcessLookupError:
        return
    try:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        select.select([handle], [], [], _DOWN_LIMIT_S)
    finally:
        os.close(handle)


def _is_other(pid: int, namespace: str) -> bool:
    """True if a process lives in another namespace of that kind than this one."""
    return os.readlink(f"/proc/{pid}/ns/{namespace}") != os.readlink(f"/proc/self/ns/{namespace}")


# --- Advice for a user whose kernel forbids a lab: which permission is missing and what to type


_SETTINGS = {
    "kernel.unprivileged_userns_clone": ("0", "1"),
    "kernel.apparmor_restrict_unprivileged_userns": ("1", "0"),
}
_ENOUGH = 10_000
_CONTAINER = (
    "In a container: start that with --privileged, or with --cap-add SYS_ADMIN --cap-add NET_ADMIN "
    "--security-opt seccomp=unconfined --security-opt apparmor=unconfined"
)


def explain(error: OSError, *, root: bool, settings: Path = Path("/proc/sys")) -> FawkesError:
    """The error to show for what the kernel answered while a lab was being built."""
    what = f"{error.strerror or error}" + (f" ({error.filename})" if error.filename else "")
    if error.errno == errno.ENOSYS:
        return RefusedError(f"the kernel is too old for a lab: {what}", hint="Linux 5.12 or later is needed")
    if error.errno == errno.EOPNOTSUPP:
        return RefusedError(f"the kernel has no virtual network: {what}", hint="As root type: modprobe -a bridge veth")
    if error.errno in (errno.ENOSPC, errno.EUSERS) and (low := _low_limits(settings)):
        commands = " ".join(f"{name}={_ENOUGH}" for name in low)
        return RefusedError(
            f"the kernel allows too few namespaces ({', '.join(low)}): {what}",
            hint=f"As root type: sysctl -w {commands}",
        )
    if error.errno not in (errno.EPERM, errno.EACCES):
        return FawkesError(f"the lab could not be built: {what}")
    if root:
        return RefusedError(f"root lacks the permission CAP_SYS_ADMIN or CAP_NET_ADMIN here: {what}", hint=_CONTAINER)
    for name, (forbidden, allowed) in _SETTINGS.items():
        file = settings / name.replace(".", "/")
        if file.exists() and file.read_text().strip() == forbidden:
            return RefusedError(
                f"the kernel does not let ordinary users make namespaces ({name} is {forbidden}): {what}",
                hint=f"As root type: sysctl -w {name}={allowed}. Or run the lab as root",
            )
    return RefusedError(
        f"the kernel does not let user {os.getuid()} make namespaces: {what}", hint=f"Run the lab as root. {_CONTAINER}"
    )


def _low_limits(settings: Path) -> list[str]:
    files = sorted((settings / "user").glob("max_*_namespaces"))
    return [f"user.{file.name}" for file in files if int(file.read_text()) < _ENOUGH]
