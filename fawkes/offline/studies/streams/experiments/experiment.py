"""Figures of the chapter's cases, as its rules and tables read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from fawkes.offline.studies.shared import statements
from fawkes.offline.studies.streams.cases import StreamCase


class StreamStudy(statements.Study):
    """Means of the figures of a case."""

    def change(self, case: StreamCase, base: StreamCase, key: str) -> float:
        """The change of a figure against another case in percent."""
        return 100 * (self.mean(case, key) / self.mean(base, key) - 1)

    def table(self, cases: Mapping[str, StreamCase], keys: Sequence[str]) -> pd.DataFrame:
        """A row for each case with some of its figures."""
        return pd.DataFrame(
            {"run": name, **{key: round(self.mean(case, key), 2) for key in keys}} for name, case in cases.items()
        )
