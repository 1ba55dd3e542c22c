"""Bring a release to the nodes: only where it is missing, whole or not at all, once for each shared folder.

A node's copy is recognised by the digest of its manifest. It arrives in a hidden folder beside its place, is checked
there file by file, and renamed. A folder that has the name but other contents (made by another version of Fawkes, or
by an administrator) is never touched, for daemons may run from it: the release then goes beside it, with the start of
its digest in its name. Hosts that share the folder are told apart by a claim: whoever makes it first gets the copy,
the others look again afterwards.
"""

from __future__ import annotations

import io
import os
import secrets
import tarfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO, Protocol

from fawkes.base.errors import FawkesError, HostError, PartialError
from fawkes.playbook import Script
from fawkes.playbook.dist import manifest
from fawkes.playbook.dist.remote import RemoteShell

Say = Callable[[str], None]

_LOOK_S = 60.0
_VERIFY_S = 300.0
_COPY_S = 1800.0


@dataclass
class Spread:
    """The end on each host.

    ``roots``: host -> the folder of the release there; ``copied``: the hosts to which it had to be sent, in the
    order in which they had it; ``failed``: host -> what went wrong there; ``wrong``: host -> what was wrong with the
    copy that it had, by the names of the files: all of it is as it should be now.
    """

    roots: dict[str, str] = field(default_factory=dict)
    copied: list[str] = field(default_factory=list)
    failed: dict[str, FawkesError] = field(default_factory=dict)
    wrong: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def check(self) -> None:
        """Nothing when every host has the release; the one host's error, or PartialError naming all that failed."""
        if len(self.failed) == 1 and not self.roots:
            raise next(iter(self.failed.values()))
        if self.failed:
            raise PartialError(
                "bringing a release to the nodes",
                done=len(self.roots),
                failed={host: error.what for host, error in self.failed.items()},
                hint="Run it again; hosts that already have it are skipped",
            )


@dataclass(frozen=True)
class _Outcome:
    """One host after one round; ``state`` is ``there``, ``copied``, ``waits`` or ``failed``."""

    host: str
    state: str
    root: str = ""
    wrong: tuple[str, ...] = ()
    error: FawkesError | None = None


@dataclass(frozen=True)
class _Round:
    """The values that all hosts of one round share; ``token`` names its claims."""

    parcel: Parcel
    shell: RemoteShell
    verify: bool
    say: Say
    token: str


def spread(
    release: Software,
    places: Mapping[str, str],
    shell: RemoteShell,
    *,
    verify: bool = False,
    fan_out: int = 16,
    say: Say = lambda line: None,
) -> Spread:
    """Bring ``release``, whose root is on this machine, to each host of ``places``: host -> its software folder.

    ``verify`` reads every file of the copies that are there already and replaces a copy in which a file is changed,
    missing or too many; otherwise they are recognised by their manifest and the names of their files. At most
    ``fan_out`` hosts are served at once. Never raises for a host: look at ``Spread.failed``, or call ``Spread.check``.
    """
    parcel = Parcel.of(release)
    end = Spread()
    waiting = list(places)
    with ThreadPoolExecutor(fan_out, thread_name_prefix="spread") as threads:
        # Each round ends for at least one host of each shared folder, well or badly; so the rounds end.
        while waiting:
            this = _Round(parcel, shell, verify, say, token=secrets.token_hex(8))
            outcomes = list(threads.map(partial(_serve, this, places), waiting))
            for outcome in outcomes:
                _file(end, outcome)
            waiting = [outcome.host for outcome in outcomes if outcome.state == "waits"]
    return end


def _file(end: Spread, outcome: _Outcome) -> None:
    if outcome.error is not None:
        end.failed[outcome.host] = outcome.error
    elif outcome.state != "waits":
        end.roots[outcome.host] = outcome.root
        if outcome.wrong:
            end.wrong[outcome.host] = outcome.wrong
        if outcome.state == "copied":
            end.copied.append(outcome.host)


def _serve(this: _Round, places: Mapping[str, str], host: str) -> _Outcome:
    try:
        state, root, wrong = _look(this, host, places[host])
        if state != "claimed":
            return _Outcome(host, state, root)
        this.say(f"{host}: copying {this.parcel.name} to {root}")
        return _Outcome(host, "copied", _copy(this, host, places[host], root), wrong)
    except FawkesError as error:
        return _Outcome(host, "failed", error=error)
    except OSError as error:
        return _Outcome(host, "failed", error=HostError(f"sending {this.parcel.name} failed: {error}", host=host))


def _look(this: _Round, host: str, place: str) -> tuple[str, str, tuple[str, ...]]:
    script = Script.join((_known(this, place, verify=this.verify), Script(_LOOK)))
    ran = this.shell.run(host, script, _VERIFY_S if this.verify else _LOOK_S)
    facts = ran.check(f"looking for {this.parcel.name} in {place}")
    if "damaged" in facts:
        this.say(f"{host}: the copy in {facts['damaged']} is damaged and will be replaced")
    return facts["state"], facts["root"], facts.all("wrong")


def _copy(this: _Round, host: str, place: str, root: str) -> str:
    take = Script.join((_known(this, place, verify=True), Script.of("target={target}", target=root), Script(_TAKE)))
    with this.parcel.stream() as stream:
        this.shell.run(host, take, _COPY_S, stream).check(f"copying {this.parcel.name} to {root}")
    return root


def _known(this: _Round, place: str, *, verify: bool) -> Script:
    return Script.of(
        _WHOLE,
        dir=place,
        name=this.parcel.name,
        tag=this.parcel.digest[:8],
        digest=this.parcel.digest,
        token=this.token,
        verify="yes" if verify else "",
    )


# `has_manifest FOLDER`: it is the release wanted. `whole FOLDER`: its files are as its manifest has them. One more
# would be on the class path, a link to another folder could lead elsewhere tomorrow, and what everybody can write is
# not safe. Exit 73 means everywhere: cannot write.
_WHOLE = r"""
dir={dir}; name={name}; tag={tag}; digest={digest}; token={token}; verify={verify}
umask 022
has_manifest() {
    [ -f "$1/MANIFEST.sha256" ] && [ "$(sha256sum <"$1/MANIFEST.sha256")" = "$digest  -" ]
}
# Four times as quick as sha256sum, where it is there and does what it should.
no_bytes=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
sums() {
    if [ "$(openssl dgst -sha256 -r </dev/null 2>/dev/null | cut -c 1-64)" = $no_bytes ]; then
        xargs -d '\n' openssl dgst -sha256 -r | sed 's/ \*/  /'
    else
        xargs -d '\n' sha256sum
    fi
}
whole() (
    cd "$1" || exit 1
    if [ -n "$verify" ]; then
        wrong=$({
            { cat MANIFEST.sha256; cut -c 67- MANIFEST.sha256 | sums; } | sort | uniq -u | cut -c 67-
            {
                cut -c 67- MANIFEST.sha256
                find . \( -type f ! -path ./MANIFEST.sha256 -o -type l ! -lname '*/*' \) -printf '%P\n'
            } | sort | uniq -u
            find . -mindepth 1 ! -type f ! -type d ! \( -type l ! -lname '*/*' \) -printf '%P\n'
            find . -mindepth 1 ! -type l -perm -002 -printf '%P\n'
        } | sort -u)
        [ -z "$wrong" ] || { printf '%s\n' "$wrong"; exit 1; }
    else
        while read -r sum path; do
            [ -f "$path" ] || { echo "$path is missing"; exit 1; }
        done <MANIFEST.sha256
    fi
)
"""

# On NFS a host may remember for a minute that a name was not there; reading the folder makes it ask again.
# What a controller that died left behind is removed after a day: it may still be at work until then.
_LOOK = r"""
mkdir -p "$dir" || exit 73
ls -a "$dir" >/dev/null
find "$dir" -maxdepth 1 \( -name ".$name.part-*" -o -name ".$name.claim-*" \) -mmin +1440 -exec rm -rf {} + 2>/dev/null
target=; state=
for place in "$dir/$name" "$dir/$name-$tag"; do
    if has_manifest "$place"; then
        target=$place
        if wrong=$(whole "$place" 2>/dev/null); then state=there; else
            echo "@damaged=$place"
            printf '%s\n' "$wrong" | head -n 20 | cut -c 1-200 | sed -n 's/^./@wrong=&/p'
        fi
        break
    fi
    [ -n "$target" ] || [ -e "$place" ] || target=$place
done
[ -n "$target" ] || { echo "$dir/$name-$tag is in the way: its files do not match its name" >&2; exit 1; }
if [ -z "$state" ]; then
    claim=$dir/.$name.claim-$token
    if mkdir "$claim" 2>/dev/null; then
        state=claimed
        # Another host may have brought it, and given up its claim, since the look above.
        if has_manifest "$target" && whole "$target" >/dev/null 2>&1; then
            rmdir "$claim"
            state=there
        fi
    elif [ -d "$claim" ]; then
        state=waits
    else
        mkdir "$claim"
        exit 73
    fi
fi
echo "@state=$state"
echo "@root=$target"
"""

# The rename decides who is first when two controllers copy at once: `mv -T` fails onto a folder that has files.
_TAKE = r"""
part=$(mktemp -d "$dir/.$name.part-XXXXXX") || exit 73
trap 'rm -rf "$part" "$dir/.$name.claim-$token"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$part/new" || exit 73
tar -xof - -C "$part/new" || exit 73
has_manifest "$part/new" || { echo 'it arrived with another manifest' >&2; exit 1; }
whole "$part/new" >&2 || { echo 'it arrived damaged' >&2; exit 1; }
if has_manifest "$target" && ! whole "$target" >/dev/null 2>&1; then
    mv -T "$target" "$part/old" || exit 73
fi
mv -T "$part/new" "$target" 2>/dev/null || has_manifest "$target" ||
    { echo "$target appeared while it was being copied" >&2; exit 1; }
"""


# --- A release of this machine, ready to be sent: its manifest, and its files as a tar stream


_CHUNK_BYTES = 1 << 20
# A site's own release: its documentation is larger than its programs, and its logs are nobody else's business.
_LEFT_OUT = ("share/doc/", "logs/")


class Software(Protocol):
    """Software that can be sent: a release of Hadoop, or Pig, in a folder."""

    @property
    def root(self) -> str: ...  # noqa: D102
    @property
    def name(self) -> str: ...  # noqa: D102


@dataclass(frozen=True)
class Parcel:
    """A parcel to send: the folder on this machine, its name on a node, and the text of its manifest."""

    folder: Path
    name: str
    manifest_text: str

    @staticmethod
    def of(release: Software) -> Parcel:
        """The parcel of a release whose ``root`` is on this machine; one without a manifest is measured."""
        folder = Path(release.root)
        made = folder / manifest.NAME
        if made.is_file():
            return Parcel(folder, release.name, made.read_text())
        digests = manifest.measure(folder)
        kept = {path: digest for path, digest in digests.items() if not path.startswith(_LEFT_OUT)}
        return Parcel(folder, release.name, manifest.render(kept))

    @property
    def digest(self) -> str:
        """The digest of the manifest: what the parcel is, whatever its name."""
        return manifest.digest_of_text(self.manifest_text)

    def stream(self) -> BinaryIO:
        """The files and the manifest as an uncompressed tar (jars are compressed already)."""
        return io.BufferedReader(_Chunks(self._tar()), _CHUNK_BYTES)

    def _tar(self) -> Iterator[bytes]:
        for path in manifest.parse(self.manifest_text, where=str(self.folder / manifest.NAME)):
            yield from _member(self.folder / path, path)
        text = self.manifest_text.encode()
        yield _header(manifest.NAME, len(text), 0o644)
        yield from _padded(iter((text,)), len(text))
        yield b"\0" * tarfile.BLOCKSIZE * 2


def _member(file: Path, path: str) -> Iterator[bytes]:
    if file.is_symlink():
        info = _info(path, 0, 0o777)
        info.type, info.linkname = tarfile.SYMTYPE, os.readlink(file)
        yield info.tobuf(tarfile.PAX_FORMAT)
        return
    with file.open("rb") as opened:
        status = os.fstat(opened.fileno())
        yield _header(path, status.st_size, 0o755 if status.st_mode & 0o100 else 0o644)
        yield from _padded(iter(lambda: opened.read(_CHUNK_BYTES), b""), status.st_size)


def _padded(chunks: Iterator[bytes], size: int) -> Iterator[bytes]:
    yield from chunks
    yield b"\0" * (-size % tarfile.BLOCKSIZE)


def _header(path: str, size: int, mode: int) -> bytes:
    return _info(path, size, mode).tobuf(tarfile.PAX_FORMAT)


def _info(path: str, size: int, mode: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(path)
    info.size, info.mode = size, mode
    return info


class _Chunks(io.RawIOBase):
    """An iterator of bytes as a file to read from."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count
