"""Finds what a script wrote between two random marks, in a stream that may have anything around it.

Login shells print banners, ``.bashrc`` files talk, and one shell serves many scripts: only what stands between the
marks of a script is its own.
"""

from __future__ import annotations

from typing import BinaryIO

_DIGITS = 12
_MOST_BEFORE = 300


class TooMuchError(Exception):
    """More came than there is room for."""


class SinkError(Exception):
    """A sink did not take what came: ``error`` is what it raised."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


class Frame:
    """One stream of one script: fed with bytes, ``done`` when the end mark came.

    Begin mark: ``MARK>`` and a line feed; end mark: ``MARK.``, an exit code that may be missing, a line feed. With a
    ``sink`` the content goes there as it comes (SinkError when it fails); else it is kept, up to ``room`` bytes
    (TooMuchError beyond).
    """

    def __init__(self, mark: str, *, sink: BinaryIO | None = None, room: int = 16 << 20) -> None:
        self.begun = False
        self.done = False
        self.exit: int | None = None
        self._before = bytearray()
        self._begin = f"{mark}>\n".encode()
        self._end = f"{mark}.".encode()
        self._sink = sink
        self._room = room
        self._held = bytearray()
        self._searched = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        if self.done:
            return
        self._held += data
        if not self.begun and not self._find_begin():
            return
        at = self._held.find(self._end, self._searched)
        stop = self._held.find(b"\n", at) if at >= 0 else -1
        if stop >= 0:
            code = bytes(self._held[at + len(self._end) : stop])
            self.exit = int(code) if code else None
            self.done = True
            del self._held[at:]
            self._pour(0)
            return
        # The mark may have come in part; the rest of what is held is content for certain.
        self._searched = max(0, len(self._held) - len(self._end)) if at < 0 else at
        self._pour(len(self._end) + _DIGITS)

    def text(self) -> str:
        """The content that was kept, as text; bytes that are no UTF-8 are replaced."""
        return self._held.decode("utf-8", "replace")

    def before(self) -> str:
        """The last that came in the place of a begin mark, as one line of text; "" once the script has begun."""
        said = b"" if self.begun else bytes(self._before + self._held)[-_MOST_BEFORE:]
        return " ".join(said.decode("utf-8", "replace").split())

    def _find_begin(self) -> bool:
        at = self._held.find(self._begin)
        if at < 0:
            other = max(0, len(self._held) - len(self._begin))
            self._before = (self._before + self._held[:other])[-_MOST_BEFORE:]
            del self._held[:other]
            return False
        del self._held[: at + len(self._begin)]
        self.begun = True
        return True

    def _pour(self, keep: int) -> None:
        if self._sink is None:
            if len(self._held) > self._room:
                raise TooMuchError
            return
        ready = len(self._held) - keep
        if ready > 0:
            try:
                self._sink.write(bytes(self._held[:ready]))
            except OSError as error:
                raise SinkError(error) from error
            del self._held[:ready]
            self._searched = max(0, self._searched - ready)
