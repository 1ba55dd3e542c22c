"""All that MR-clusters, jobs and replays need on the controller's machine: who needs what, and the one way to get it.

A piece is a release of Hadoop, Pig or Spark, CRIU, or a jar of Fawkes's own Java. All verbs and the controller ask
here, so that nothing is missed when there is no network any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fawkes.playbook.criu import debian
from fawkes.playbook.criu.debian import CRIU, Criu
from fawkes.playbook.dist import cache, maven
from fawkes.playbook.dist.cache import BESIDE, Wanted
from fawkes.playbook.dist.compile import compiled
from fawkes.playbook.dist.compile.compiled import COPIES, DOORS, LOAD, SECURE_IO, STREAMS, TASKS, JavaCode
from fawkes.playbook.dist.maven import Resolve, Say
from fawkes.playbook.dist.pins import PINS, Pin, pin

Piece = Wanted | JavaCode | Criu

STREAM = "stream"
"""The kind of jobs that need the part of streams."""
COMPILED = {code.argument: code for code in (DOORS, SECURE_IO, LOAD, TASKS, COPIES)}
"""The pieces that are compiled, by their names for `fawkes dist get`."""
_ALONE: Mapping[str, Piece] = {**COMPILED, **BESIDE, CRIU.argument: CRIU, STREAMS.argument: STREAMS}


def of_name(name: str) -> tuple[Piece, ...]:
    """The pieces that `fawkes dist get NAME` brings, the one of that name first; UserError when nothing has this name.

    With a release of Hadoop comes all else that any MR-cluster with it can need.
    """
    return (_ALONE[name],) if name in _ALONE else (pin(name), *COMPILED.values())


def of_cluster(
    version: str,
    *,
    own_release: bool = False,
    kerberos: bool = False,
    software: Iterable[str] = (),
    save_to: Iterable[str] = (),
) -> tuple[Piece, ...]:
    """The pieces that an MR-cluster with this version of Hadoop needs; ``own_release``: the nodes have the site's own.

    ``software`` is what its nodes have besides, ``save_to`` where its outputs go.
    """
    copies = any(target.startswith("hdfs://") for target in save_to)
    hadoop = () if own_release else (pin(version),)
    ours = (DOORS, *([SECURE_IO] if kerberos else []), *([COPIES] if copies else []))
    return (*hadoop, *ours, *(BESIDE[name] for name in software))


def of_job(kind: str, checkpoint: str = "") -> tuple[Piece, ...]:
    """The pieces that a job of this kind, whose tasks are saved like this, needs besides those of its MR-cluster."""
    if kind == TASKS.argument:
        return (TASKS, CRIU) if checkpoint == CRIU.argument else (TASKS,)
    if kind == STREAM:
        return (BESIDE[STREAMS.against], STREAMS)
    return (BESIDE[kind],) if kind in BESIDE else ()


def is_there(piece: Piece) -> bool:
    """True if the cache has a piece, made by this version of Fawkes."""
    if isinstance(piece, Criu):
        return debian.is_made(piece)
    return compiled.is_made(piece) if isinstance(piece, JavaCode) else cache.is_there(piece)


def place_of(piece: Piece) -> Path:
    """The place where the cache has (or would have) a piece: a folder, or a jar or an archive of ours."""
    if isinstance(piece, Criu):
        return debian.place_of(piece)
    return compiled.place_of(piece) if isinstance(piece, JavaCode) else cache.folder_of(piece)


def there() -> list[str]:
    """The names, as `fawkes dist get` takes them, of all pieces that the cache has."""
    known: list[Piece] = [*PINS.values(), *BESIDE.values(), *COMPILED.values(), CRIU, STREAMS]
    return [piece.argument for piece in known if is_there(piece)]


def provide(
    pieces: Iterable[Piece], *, again: bool = False, say: Say = lambda line: None, resolve: Resolve = maven.resolve
) -> list[Piece]:
    """Get all that the cache lacks of these pieces; ``again`` makes releases anew even so. The pieces that were made.

    ``say`` gets a line for each step. FawkesError, with the reason, when one cannot be had; those before it stay.
    """
    made: list[Piece] = []
    for piece in {piece.name: piece for piece in pieces}.values():
        if isinstance(piece, JavaCode):
            if not is_there(piece):
                compiled.jar_of(piece, say, resolve)
                made.append(piece)
        elif isinstance(piece, Criu):
            made += [piece] * debian.provide(piece, again=again, say=say)
        elif cache.provide(piece, again=again, say=say, resolve=resolve):
            made.append(piece)
    return made


def command(missing: Sequence[Piece], needed: Sequence[Piece]) -> str:
    """The commands to type for the missing ones of the pieces that are needed together."""
    release = next((piece for piece in needed if isinstance(piece, Pin)), None)
    alone = {*BESIDE, CRIU.argument, STREAMS.argument}
    ours = [piece.argument for piece in missing if piece.argument in alone]
    others = [piece.argument for piece in missing if piece.argument not in alone]
    names = [*([release.argument] if release is not None and others else others), *ours]
    return " and ".join(f"`fawkes dist get {name}`" for name in names)
