"""The programs once more, by numpy and scipy: what an MR-cluster's results must be.

Each function gets the folder of a program's input and that of its output, as they were saved, and returns what is wrong
with the output in a line, or an empty text.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy import sparse

from fawkes.base.errors import UserError
from fawkes.workload.playing.wordcount import counts, saved_counts

DAMPING = 0.85
_NEAR = 1e-9


def lines(folder: Path) -> list[str]:
    """The lines of all files of a folder, file by file; UserError when it has none."""
    return [line for file in _parts(folder) for line in file.read_text(encoding="utf-8").splitlines()]


def _parts(folder: Path) -> list[Path]:
    files = sorted(folder.glob("part-*"))
    if not files:
        raise UserError(
            "there are no files of a result", where=str(folder), hint="Did the program end, and was it saved?"
        )
    return files


def wordcount(read: Path, written: Path) -> str:
    """Every word with its count."""
    wanted, result = counts(read), saved_counts(written)
    differs = sorted(word for word in wanted.keys() | result.keys() if wanted[word] != result[word])
    if not differs:
        return ""
    word = differs[0]
    shown = word.decode(errors="replace")
    return f"{len(differs)} words differ, such as {shown!r}: {result[word]} instead of {wanted[word]}"


def sort(read: Path, written: Path) -> str:
    """The same records, and by key in each file."""
    for file in _parts(written):
        keys = [line.partition("\t")[0] for line in file.read_text(encoding="utf-8").splitlines()]
        if any(key > other for key, other in pairwise(keys)):
            return f"{file.name} is not in order"
    wanted, result = sorted(lines(read)), sorted(lines(written))
    return "" if wanted == result else f"{len(result)} records that are not the {len(wanted)} of the input"


def terasort(read: Path, written: Path) -> str:
    """The same records of 100 bytes, in order through all files."""
    wanted, result = _records(read), _records(written)
    keys = [record[:10] for record in result]
    if any(key > other for key, other in pairwise(keys)):
        return "the records are not in order"
    return (
        "" if sorted(wanted) == sorted(result) else f"{len(result)} records that are not the {len(wanted)} of the input"
    )


def _records(folder: Path) -> list[bytes]:
    text = b"".join(file.read_bytes() for file in _parts(folder))
    return [text[at : at + 100] for at in range(0, len(text), 100)]


def pagerank(read: Path, written: Path, iterations: int) -> str:
    """The pages by rank after so many iterations; ``written`` is the whole output."""
    wanted = ranks(lines(read), iterations)
    rows = [line.split("\t") for line in lines(written / f"sorted-{iterations}")]
    pages = np.array([int(page) for page, _ in rows])
    saved = np.array([float(rank) for _, rank in rows])
    if sorted(pages) != list(range(len(wanted))):
        return f"{len(rows)} pages that are not the {len(wanted)} of the input"
    if (np.diff(saved) > 0).any():
        return "the pages are not in order"
    worst = float(np.abs(saved / wanted[pages] - 1).max())
    return "" if worst < _NEAR else f"a rank is off by {worst:.2g} of it"


def ranks(state: list[str], iterations: int) -> np.ndarray:
    """The rank of each page by its number, computed with a sparse matrix."""
    rows = sorted((int(page), float(rank), links) for page, rank, links in (line.split("\t") for line in state))
    count = len(rows)
    targets = [[int(link) for link in links.split()] for _, _, links in rows]
    degrees = np.array([len(links) for links in targets])
    weights = np.repeat(1 / np.maximum(degrees, 1), degrees)
    to = np.array([link for links in targets for link in links], dtype=np.int64)
    matrix = sparse.csr_matrix((weights, (to, np.repeat(np.arange(count), degrees))), shape=(count, count))
    values = np.array([rank for _, rank, _ in rows])
    for _ in range(iterations):
        lost = values[degrees == 0].sum() / count
        values = (1 - DAMPING) / count + DAMPING * (matrix @ values + lost)
    return values


def kmeans(read: Path, written: Path, first: Path, iterations: int) -> str:
    """The centres after so many iterations, each sample with its cluster; ``first`` has the centres to begin with."""
    samples = np.array([[float(value) for value in line.split()] for line in lines(read)])
    wanted = centres(samples, _centres(first), iterations)
    saved = _centres(written / f"centres-{iterations}")
    if saved.shape != wanted.shape:
        return f"centres of the shape {saved.shape} instead of {wanted.shape}"
    if not np.allclose(saved, wanted, rtol=_NEAR, atol=_NEAR):
        return f"a centre is off by {np.abs(saved - wanted).max():.2g}"
    rows = [line.split("\t") for line in lines(written / "samples")]
    assigned = np.array([[float(value) for value in values.split()] for _, values in rows])
    clusters = np.array([int(cluster) for cluster, _ in rows])
    if sorted(map(tuple, assigned)) != sorted(map(tuple, samples)):
        return f"{len(rows)} samples that are not the {len(samples)} of the input"
    # Of two centres that are equally near up to the last bits either may be taken.
    distances = _distances(assigned, wanted)
    own = distances[np.arange(len(rows)), clusters]
    wrong = int((own > distances.min(axis=1) * (1 + _NEAR)).sum())
    return f"{wrong} samples are not at the nearest centre" if wrong else ""


def centres(samples: np.ndarray, first: np.ndarray, iterations: int) -> np.ndarray:
    """The centres after so many iterations of Lloyd's algorithm; one without samples stays."""
    centres = first.copy()
    for _ in range(iterations):
        nearest = _distances(samples, centres).argmin(axis=1)
        for cluster in range(len(centres)):
            own = samples[nearest == cluster]
            if len(own):
                centres[cluster] = own.mean(axis=0)
    return centres


def _distances(samples: np.ndarray, centres: np.ndarray) -> np.ndarray:
    return np.stack([((samples - centre) ** 2).sum(axis=1) for centre in centres], axis=1)


def _centres(folder: Path) -> np.ndarray:
    rows = sorted((int(cluster), values) for cluster, values in (line.split("\t") for line in lines(folder)))
    return np.array([[float(value) for value in values.split()] for _, values in rows])
