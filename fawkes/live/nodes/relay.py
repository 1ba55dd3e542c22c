"""A connection that a host opens for us through a session: for servers whose sshd forwards no ports.

bash opens the connection, and two `cat` copy the bytes. What we end is ended as a whole: bash cannot close one
direction alone. What the other side ends arrives as the end of its bytes.
"""

from __future__ import annotations

import errno
import os
import secrets
import time

import paramiko

from fawkes.base.errors import cut
from fawkes.live.nodes.lane import LaneBrokenError, close, execute
from fawkes.playbook.script import Script

_MOST_BEFORE = 1 << 16
_NOT_TAKEN = tuple(map(os.strerror, (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ETIMEDOUT)))


class NotTakenError(ConnectionError):
    """The host could try, and the address did not take its connection."""


# The process behind descriptor 4 ends a connect that takes too long: nobody else would, after we have given up. Without
# the `exec >&-` sshd would wait for bash to close its output as well, and would not tell the end of the other side's.
_RELAY = r"""
exec 2>&1
exec 4> >(read -r -t {limit_s}; [ $? -le 128 ] || kill -9 $$)
place=/dev/tcp/{address}/{port}
exec 3<>"$place" || { echo {mark}-; exit 1; }
exec 4>&- 2>/dev/null
echo {mark}+
cat <&3 &
exec >&-
cat >&3
kill $!
"""


def relay(channel: paramiko.Channel, address: str, port: int, limit_s: float) -> None:
    """Turn a fresh session into a connection from the host to ``address``; the channel carries its bytes from then on.

    OSError with the host's own reason when it does not connect within ``limit_s``, NotTakenError when the address does
    not take the connection. The channel is closed then.
    """
    mark = secrets.token_hex(8)
    text = Script.of(_RELAY, limit_s=f"{limit_s:.3f}", address=address, port=port, mark=mark).text.encode()
    try:
        # As in `run_once`: every login shell understands this line, and `head` takes exactly the script.
        execute(channel, f"exec env LC_ALL=C bash -c 'eval \"$(head -c {len(text)})\"'", limit_s)
        try:
            channel.sendall(text)
        except TimeoutError:
            raise
        except OSError:
            # It has ended already. What it said is still to be read.
            pass
        _wait(channel, mark.encode(), time.monotonic() + limit_s)
    except TimeoutError as error:
        close(channel)
        raise TimeoutError(f"no connection within {limit_s:.3g} s") from error
    except (LaneBrokenError, EOFError, paramiko.SSHException) as error:
        said = _words(_errors(channel))
        close(channel)
        what = "does not begin bash" if said else "ended before there was a connection"
        raise ConnectionError(f"its session {what}{said}") from error
    except OSError:
        close(channel)
        raise


def _wait(channel: paramiko.Channel, mark: bytes, until: float) -> None:
    """Read to the end of the line with the mark, and no further."""
    said = bytearray()
    while not said.endswith((mark + b"+\n", mark + b"-\n")):
        channel.settimeout(max(0.05, until - time.monotonic()))
        byte = channel.recv(1)
        if not byte or len(said) > _MOST_BEFORE:
            raise ConnectionError(f"its session does not begin bash{_words(_errors(channel) or bytes(said))}")
        said += byte
    if said.endswith(b"-\n"):
        reason = _words(bytes(said[: -len(mark) - 2]))
        known = next((each for each in _NOT_TAKEN if each in reason), None)
        raise ConnectionError(f"bash there cannot connect{reason}") if known is None else NotTakenError(known)


def _errors(channel: paramiko.Channel) -> bytes:
    return channel.recv_stderr(_MOST_BEFORE) if channel.recv_stderr_ready() else b""


def _words(said: bytes) -> str:
    words = " ".join(said.decode("utf-8", "replace").split())
    return f"; it said: {cut(words, 200)}" if words else ""
