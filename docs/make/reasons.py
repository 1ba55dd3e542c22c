"""The reasons that Fawkes gives for what it does: their codes and their sentences."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any, cast

from docs.make.table import code, table
from fawkes.core.model import Facts
from fawkes.report import sentences
from fawkes.report.sentences import SENTENCES, VERDICTS, Template

#: facts that are no texts: the least that makes their sentence whole
_EXAMPLES: Mapping[str, object] = {
    "undeclared": ["UNDECLARED"],
    "applications": ["APPLICATIONS"],
    "refusals": [{"code": "REFUSALS", "facts": {}}],
    "sets": (),
    "outputs": (),
    "clusters": {},
}
_HEADING = re.compile(r'^    # (?P<heading>.+)$|^    "(?P<code>[a-z-]+)":', re.MULTILINE)


class _Names(dict[str, Any]):
    """Facts that answer with their own names in capitals: every fact is there."""

    def __missing__(self, key: str) -> object:
        return _EXAMPLES.get(key, _name(key))

    def get(self, key: str, default: object = None) -> object:
        return self[key]


def reasons() -> str:
    """A section for each group of reasons, with the codes and sentences of the group."""
    texts = {name: _sentence(name, template) for name, template in SENTENCES.items() if name != "tick"}
    sections = []
    for heading, names in _groups().items():
        rows = [(code(name), texts[name]) for name in names if name in texts]
        sections.append(f"## {heading[0].upper()}{heading[1:]}\n\n{table(['code', 'sentence'], rows)}")
    return "\n\n".join(sections)


def verdicts() -> str:
    """The verdicts on a tick: their codes and their sentences."""
    return table(
        ["verdict", "sentence"], [(code(name), _sentence(name, template)) for name, template in VERDICTS.items()]
    )


def _sentence(name: str, template: Template) -> str:
    """The longest sentence of a template, with the names of facts in capitals instead of facts."""
    try:
        text = template if isinstance(template, str) else template(cast(Facts, _Names()))
    except (TypeError, AttributeError) as error:
        raise TypeError(f"{name}: give an example of its facts in _EXAMPLES of {__name__}") from error
    shown = re.sub(r"\{(\w+)\}", lambda found: "s" if found[1] == "s" else _name(found[1]), text)
    return shown + "."


def _name(fact: str) -> str:
    return re.sub(r"_(us|bytes)$", "", fact).upper()


def _groups() -> Mapping[str, list[str]]:
    """The codes below the comments that group them in the source."""
    source = inspect.getsource(sentences).partition("\nSENTENCES")[2]
    groups: dict[str, list[str]] = {}
    for found in _HEADING.finditer(source):
        if found["heading"]:
            groups[found["heading"]] = []
        elif found["code"] in SENTENCES:
            groups.setdefault(next(reversed(groups), "reasons"), []).append(found["code"])
    return groups
