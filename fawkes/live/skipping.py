"""The segment of a kept copy to which the operations of `live.stamps` are appended."""

from __future__ import annotations

import mmap
from pathlib import Path

from fawkes.errors import FawkesError
from fawkes.live import edit_log, stamps


def skipping(folder: Path, last: int) -> tuple[str, int, bytes]:
    """The segment of edits to append to, its size, and the operations by which block numbers skip what was lost.

    ``folder`` has the files of a NameNode up to transaction ``last``. FawkesError when they cannot be read.
    """
    names = [path.name for path in folder.iterdir()]
    image, segments = edit_log.newest_image(names), edit_log.needed(names)
    try:
        if image is None or segments is None:
            raise ValueError("the copy has no image")
        with (
            (folder / edit_log.image_name(image)).open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            now = stamps.stamps_of(data)
        for segment in segments:
            now = stamps.after(now, (folder / segment.name).read_bytes()[stamps.HEADER.size :])
    except (OSError, ValueError) as error:
        raise FawkesError(f"the copy of the NameNode's data cannot be read: {error}", where=str(folder)) from error
    edits = stamps.leap(now, last)
    if segments and segments[-1].last is None:
        name = segments[-1].name
        return name, (folder / name).stat().st_size, edits
    return edit_log.open_name(last + 1), 0, stamps.HEADER.pack(now.layout, 0) + edits
