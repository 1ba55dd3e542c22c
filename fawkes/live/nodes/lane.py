"""Scripts through a connection: by shells that are kept, or on a channel of their own.

Fabric's `run` starts a login, a shell and three threads for each command. Instead a `/bin/sh -s` is kept open on a
channel and gets one script after another, framed by random marks, each in a process group of its own that the far side
ends at its deadline, whether or not we are still there. Brief ones end by themselves and need none.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from typing import BinaryIO

import paramiko

from fawkes.live.nodes.ssh import ConnectionState, Result, SshDeadlineError, SshError
from fawkes.live.wire.frame import Frame, SinkError, TooMuchError
from fawkes.playbook.script import Script

_DRAIN_S = 0.2
_KILL_AFTER_S = 1
_GRACE_S = 2.0
_ASK_S = 2.0
_CHUNK = 1 << 16


class LaneBrokenError(Exception):
    """The channel ended, or nothing came, before the script was done.

    ``begun``: the far side said that it began the script; ``silent``: nothing came, though the channel is there. Where
    the session did not begin it, ``exit`` is the code with which the far side ended it (None: it did not, or nobody
    knows), ``answers`` is true if the host itself still answers, and ``said`` is what came instead.
    """

    def __init__(
        self,
        *,
        begun: bool,
        silent: bool,
        exit: int | None = None,  # noqa: A002
        answers: bool = False,
        said: str = "",
    ) -> None:
        super().__init__()
        self.begun = begun
        self.silent = silent
        self.exit = exit
        self.answers = answers
        self.said = said


class Lane:
    """A shell on a channel of a connection. It runs one script at a time."""

    def __init__(self, node: str, channel: paramiko.Channel, answer_s: float) -> None:
        """Start the shell; LaneBrokenError when the far side does not within ``answer_s``."""
        self.used = False
        self._node = node
        self._channel = channel
        execute(channel, "exec /bin/sh -s", answer_s)

    def run(self, script: Script, limit_s: float, answer_s: float, sink: BinaryIO | None) -> Result:
        """Run a script and wait for its end, for ``limit_s`` and a little; ``answer_s`` until it is begun.

        LaneBrokenError when the way is broken; the lane is of no use then.
        """
        mark = secrets.token_hex(8)
        self.used = True
        return _converse(
            self._node, self._channel, _kept_command(script, mark, limit_s), None, mark, limit_s, answer_s, sink
        )

    @property
    def transport(self) -> paramiko.Transport:
        """The connection under the lane."""
        return self._channel.get_transport()

    @property
    def alive(self) -> bool:
        """True if the channel was open a moment ago."""
        return not self._channel.closed and self.transport.is_active()


def run_once(
    node: str,
    channel: paramiko.Channel,
    script: Script,
    stdin: BinaryIO,
    limit_s: float,
    answer_s: float,
    sink: BinaryIO | None,
) -> Result:
    """Run one script on a fresh channel, with a standard input of its own. Raises as `Lane.run`."""
    mark = secrets.token_hex(8)
    text = _framed(f"(\n{script.text}\n)", mark)
    data = text.encode()
    # `head` takes exactly the script; a shell that reads its script from the channel would swallow some of the input.
    execute(channel, f"exec {_timeout(limit_s)} /bin/sh -c 'eval \"$(head -c {len(data)})\"'", answer_s)
    return _converse(node, channel, data, stdin, mark, limit_s, answer_s, sink)


def execute(channel: paramiko.Channel, command: str, answer_s: float) -> None:
    """Ask for a command on a fresh channel; LaneBrokenError when the far side does not take it within ``answer_s``.

    paramiko would wait for ever for the answer of a host that was paused meanwhile.
    """
    silent = threading.Event()

    def give_up() -> None:
        silent.set()
        close(channel)

    watchdog = threading.Timer(answer_s, give_up)
    watchdog.start()
    try:
        channel.exec_command(command)
    except (OSError, EOFError, paramiko.SSHException) as error:
        if silent.is_set():
            raise LaneBrokenError(begun=False, silent=True) from error
        # The session may have ended before the answer was heard; it says why.
        mark = secrets.token_hex(8)
        raise _broken(channel, Frame(mark), Frame(mark), answer_s, silent=False) from error
    finally:
        watchdog.cancel()


def close(channel: paramiko.Channel) -> None:
    """Close a channel. That tells the far side, which raises when the connection has broken: it is closed as well."""
    with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
        channel.close()


def _timeout(limit_s: float) -> str:
    return f"timeout -k {_KILL_AFTER_S} {limit_s:.3f}"


def _framed(command: str, mark: str) -> str:
    return (
        f"printf '{mark}>\\n'; printf '{mark}>\\n' >&2\n{command}\nprintf '{mark}.%d\\n' $?; printf '{mark}.\\n' >&2\n"
    )


def _kept_command(script: Script, mark: str, limit_s: float) -> bytes:
    """The script in brackets: one that arrives in part, because the connection broke, is a syntax error, not begun."""
    if script.brief:
        return _framed(f"(\n{script.text}\n) </dev/null", mark).encode()
    inner = f"{{\n{script.text}\n}} </dev/null"
    return _framed(f"{_timeout(limit_s)} /bin/sh -s <<'{mark}'\n{inner}\n{mark}", mark).encode()


def _converse(
    node: str,
    channel: paramiko.Channel,
    command: bytes,
    stdin: BinaryIO | None,
    mark: str,
    limit_s: float,
    answer_s: float,
    sink: BinaryIO | None,
) -> Result:
    out, err = Frame(mark, sink=sink), Frame(mark)
    feeder = None if stdin is None else _Feeder(channel, stdin)
    began = time.monotonic()
    try:
        channel.settimeout(answer_s)
        channel.sendall(command)
        if feeder is not None:
            feeder.start()
        _listen(channel, out, err, began + answer_s, began + limit_s + _GRACE_S)
    except TooMuchError as error:
        close(channel)
        what = "a script wrote too much output"
        raise SshError(what, host=node, state=ConnectionState.TOO_MUCH) from error
    except SinkError as error:
        # A full disk here says nothing about the host, or the way to it.
        close(channel)
        raise error.error from error
    except (OSError, EOFError, paramiko.SSHException) as error:
        broken = _broken(channel, out, err, answer_s, silent=isinstance(error, TimeoutError))
        close(channel)
        if feeder is not None and feeder.error is not None:
            raise feeder.error from error
        raise broken from error
    if out.exit in _ENDED_BY_TIMEOUT and time.monotonic() - began >= limit_s:
        raise late(node, limit_s)
    return Result(node, 1 if out.exit is None else out.exit, out.text(), err.text())


def _broken(channel: paramiko.Channel, out: Frame, err: Frame, answer_s: float, *, silent: bool) -> LaneBrokenError:
    """The error for a session that ended or is silent, with what the far side says about it."""
    transport = channel.get_transport()
    if out.begun or not transport.is_active():
        return LaneBrokenError(begun=out.begun, silent=silent)
    with contextlib.suppress(OSError, EOFError, paramiko.SSHException, TooMuchError, SinkError):
        while channel.recv_ready():
            out.feed(channel.recv(_CHUNK))
        while channel.recv_stderr_ready():
            err.feed(channel.recv_stderr(_CHUNK))
    said = err.before() or out.before()
    if silent:
        return LaneBrokenError(begun=False, silent=True, answers=answers(transport, min(answer_s, _ASK_S)), said=said)
    # The code comes after the end of the streams.
    known = channel.status_event.wait(_ASK_S) and channel.exit_status >= 0
    return LaneBrokenError(begun=False, silent=False, exit=channel.exit_status if known else None, said=said)


def answers(transport: paramiko.Transport, limit_s: float) -> bool:
    """True if the host answers one more question, be it by a refusal."""
    try:
        transport.open_session(timeout=limit_s).close()
    except paramiko.ChannelException:
        return True
    except (OSError, EOFError, paramiko.SSHException):
        return False
    return True


_ENDED_BY_TIMEOUT = (124, 128 + 9, 128 + 15)


def late(node: str, limit_s: float) -> SshDeadlineError:
    """The error for a script that was not finished in time."""
    return SshDeadlineError(
        f"not finished within {limit_s:.3g} s and was stopped there",
        host=node,
        state=ConnectionState.TIMED_OUT,
        hint="The host may be slow or its disk full: run `fawkes check`",
    )


def _listen(channel: paramiko.Channel, out: Frame, err: Frame, answer_until: float, until: float) -> None:
    """Read both streams to their end marks. TimeoutError when nothing begins or ends in time, EOFError at the end."""
    while not (out.done and err.done):
        left = (until if out.begun else min(until, answer_until)) - time.monotonic()
        if left <= 0:
            raise TimeoutError
        # Both must be drained: a script that fills one stream while we wait for the other would never go on.
        channel.settimeout(min(left, _DRAIN_S))
        try:
            data = channel.recv_stderr(_CHUNK) if out.done else channel.recv(_CHUNK)
        except TimeoutError:
            data = None
        if data == b"":
            raise EOFError
        if data:
            (err if out.done else out).feed(data)
        while not out.done and channel.recv_stderr_ready():
            err.feed(channel.recv_stderr(_CHUNK))


class _Feeder(threading.Thread):
    """Sends a stream to its end. ``error`` is what reading it raised: the far side must not take that for its end."""

    def __init__(self, channel: paramiko.Channel, stdin: BinaryIO) -> None:
        super().__init__(daemon=True, name="ssh-feeder")
        self.error: Exception | None = None
        self._channel = channel
        self._stdin = stdin

    def run(self) -> None:
        """Send; a channel that closes meanwhile is noticed by whoever listens."""
        try:
            while data := self._stdin.read(_CHUNK):
                if not self._send(memoryview(data)):
                    return
            self._channel.shutdown_write()
        except (EOFError, paramiko.SSHException):
            return
        except Exception as error:
            self.error = error
            close(self._channel)

    def _send(self, data: memoryview) -> bool:
        while data:
            try:
                sent = self._channel.send(bytes(data))
            except TimeoutError:
                continue  # the listener's short time limit is the channel's, too
            except OSError:
                return False
            if not sent:
                return False
            data = data[sent:]
        return True
