"""Changes of a kept copy after which its NameNode gives out no number again; see `live.stamps`."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path

from fawkes.base.errors import FawkesError
from fawkes.live.edits import edit_log, stamps


@dataclass(frozen=True, slots=True)
class Tail:
    """A file of a copy, which has ``size`` bytes, is to have ``data`` from the byte ``at`` on, and to end there."""

    name: str
    size: int
    at: int
    data: bytes


def skipping(folder: Path, last: int, version: int) -> tuple[Tail, Tail, int]:
    """The operations after the last one, the image with other counters, and the newest generation stamp until now.

    ``folder`` has the files of a NameNode up to transaction ``last``; the move has a ``version``. FawkesError when
    they cannot be read.
    """
    names = [path.name for path in folder.iterdir()]
    image, segments = edit_log.newest_image(names), edit_log.needed(names)
    try:
        if image is None or segments is None:
            raise ValueError("the copy has no image")
        name = edit_log.image_name(image)
        with (folder / name).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            now = stamps.stamps_of(data)
            for segment in segments:
                now = stamps.after(now, (folder / segment.name).read_bytes()[stamps.HEADER.size :])
            end, counters = stamps.with_generation(data, now.generation + stamps.leap_of(version))
            other = Tail(name, len(data), end, counters)
    except (OSError, ValueError) as error:
        raise FawkesError(f"the copy of the NameNode's data cannot be read: {error}", where=str(folder)) from error
    edits = stamps.leap(now, last, version)
    if segments and segments[-1].last is None:
        size = (folder / segments[-1].name).stat().st_size
        return Tail(segments[-1].name, size, size, edits), other, now.generation
    begun = stamps.HEADER.pack(now.layout, 0) + edits
    return Tail(edit_log.open_name(last + 1), 0, 0, begun), other, now.generation
