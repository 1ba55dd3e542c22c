"""The reasons that Fawkes gives for what it does: their codes and their sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from docs.make.table import code, table
from fawkes.core.values.model import Facts
from fawkes.report.words.sentences import SENTENCES, VERDICTS

#: facts that are no texts: the least that makes their sentence whole
_EXAMPLES: Mapping[str, object] = {
    "undeclared": ["UNDECLARED"],
    "applications": ["APPLICATIONS"],
    "refusals": [{"code": "REFUSALS", "facts": {}}],
    "sets": (),
    "outputs": (),
    "clusters": {},
    "leftovers": 2,
    "names": ["NAMES"],
    "files": ["FILES"],
    "able": ["ABLE"],
    "before": ["BEFORE"],
    "journal": ["JOURNAL"],
    "missing": ["MISSING"],
    "open": ["OPEN"],
    "ended": ["ENDED"],
    "by_standby": False,
}


class _Names(dict[str, Any]):
    """Facts that answer with their own names in capitals: every fact is there."""

    def __missing__(self, key: str) -> object:
        return _EXAMPLES.get(key, _name(key))

    def get(self, key: str, default: object = None) -> object:
        return self[key]


def reasons() -> str:
    """Each code and its sentence, by the alphabet; a tick has a sentence for each verdict instead."""
    rows = [(code(name), _sentence(name, SENTENCES[name])) for name in sorted(SENTENCES) if name != "tick"]
    return table(["code", "sentence"], rows)


def verdicts() -> str:
    """The verdicts on a tick: their codes and their sentences."""
    rows = [(code(name), _sentence(name, template)) for name, template in VERDICTS.items()]
    return table(["verdict", "sentence"], rows)


def _sentence(name: str, template: str | Callable[[Facts], str]) -> str:
    """The longest sentence of a template, with the names of facts in capitals instead of facts."""
    try:
        text = template if isinstance(template, str) else template(cast(Facts, _Names()))
    except (TypeError, AttributeError) as error:
        raise TypeError(f"{name}: give an example of its facts in _EXAMPLES of {__name__}") from error
    shown = re.sub(r"\{(\w+)\}", lambda found: "s" if found[1] == "s" else _name(found[1]), text)
    return shown + "."


def _name(fact: str) -> str:
    return re.sub(r"_(us|bytes)$", "", fact).upper()
