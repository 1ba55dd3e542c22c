"""A cache that has something by name alone: enough for all that asks whether it is there."""

from __future__ import annotations

from fawkes.playbook.criu.debian import Criu
from fawkes.playbook.dist import manifest
from fawkes.playbook.dist.cache import folder_of, wanted_manifest
from fawkes.playbook.dist.compile.compiled import JavaCode
from fawkes.playbook.dist.pieces import Piece, is_there, place_of


def make(piece: Piece) -> None:
    """Have a piece in the cache, by the names of its files."""
    if isinstance(piece, JavaCode | Criu):
        place_of(piece).parent.mkdir(parents=True)
        place_of(piece).touch()
        return
    text = wanted_manifest(piece)
    for line in text.splitlines():
        path = folder_of(piece) / line.partition("  ")[2]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (folder_of(piece) / manifest.NAME).write_text(text)
    assert is_there(piece)
