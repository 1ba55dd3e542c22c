"""The configuration of a HiBench checkout, as HiBench's own scripts read it; its scale profiles come with Fawkes.

``conf/*.conf`` in the order of their names, then ``conf/workloads/CATEGORY/NAME.conf``: on each line a key, white
space, a value; the last one of a key counts. ``${other.key}`` stands for that key's value, in keys and in values, one
in another as well (the profile is spliced into key names); ``${key:-text}`` has a default, and where ``${key:_}`` has
nothing to stand for, HiBench leaves out what refers to it. A key with stars renames what fits it when its value has as
many. A reference to nothing is an error here; HiBench takes an empty text and goes on.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from fawkes.base.errors import ConfigError, UserError
from fawkes.base.reading import read_text
from fawkes.config.files.loader import did_you_mean

PROFILES = ("tiny", "small", "large", "huge", "gigantic", "bigdata")
"""HiBench's own, from the smallest."""
PROFILE_KEY = "hibench.scale.profile"

_INNERMOST = re.compile(r"\$\{\s*([^\s${}]+?)\s*\}")
_DEFAULT = re.compile(r"(:[-_])")
_MOST_STEPS = 100
_CSV = Path(__file__).with_name("profiles.csv")

Profile = Mapping[str, str]


@cache
def shipped_profiles() -> Mapping[str, Mapping[str, Profile]]:
    """HiBench 8.0's 192 values: workload such as ``micro/sort`` -> profile -> parameter -> value."""
    profiles: dict[str, dict[str, dict[str, str]]] = {}
    with _CSV.open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            profiles.setdefault(row["workload"], {}).setdefault(row["profile"], {})[row["parameter"]] = row["value"]
    return profiles


def shipped_profile(workload: str, profile: str) -> Profile:
    """The parameters of one of HiBench's own profiles; UserError with the known ones when there is none."""
    known = shipped_profiles()
    if workload not in known:
        raise UserError(f"there are no profiles of {workload!r}", hint=did_you_mean(workload, known))
    if profile not in known[workload]:
        raise UserError(f"{workload} has no profile {profile!r}", hint=_known(known[workload]))
    return known[workload][profile]


@dataclass(frozen=True, slots=True)
class Place:
    """The place where a value stands."""

    file: Path
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Conf:
    """Keys with their values as written, and where each stands; ``folder`` is the checkout.

    ``given`` are keys that whoever asks gives, as HiBench's scripts do.
    """

    folder: Path
    workload: str
    values: Mapping[str, str]
    places: Mapping[str, Place]
    given: Mapping[str, str] = field(default_factory=dict)

    def text(self, key: str) -> str:
        """The value with all that it refers to; ConfigError with file and line when that is not there."""
        if key not in self.values:
            raise ConfigError(
                f"{key!r} is not given", file=str(self.folder / "conf"), hint=did_you_mean(key, self.values)
            )
        return self._expand(self.values[key], key, ())

    def number(self, key: str) -> int:
        """The same as a whole number."""
        text = self.text(key)
        if not text.isdecimal():
            raise ConfigError(f"{text!r} is not a whole number", file=str(self._place(key)), key=key)
        return int(text)

    @property
    def profile(self) -> str:
        """The scale profile that is chosen."""
        return self.text(PROFILE_KEY)

    def profiles(self) -> dict[str, dict[str, str]]:
        """The profiles that the workload's file defines: profile -> parameter -> value."""
        prefix = f"hibench.{self.workload.rpartition('/')[2]}."
        parameters: dict[str, dict[str, str]] = {}
        for key in self.values:
            profile, dot, parameter = key.removeprefix(prefix).partition(".")
            if key.startswith(prefix) and dot and (profile in PROFILES or self._own_profile(prefix, profile)):
                parameters.setdefault(profile, {})[parameter] = self.text(key)
        return parameters

    def parameters(self) -> Profile:
        """The parameters of the profile that is chosen; ConfigError with the known ones when it is not defined."""
        known = self.profiles()
        if self.profile not in known:
            raise ConfigError(
                f"{self.workload} has no profile {self.profile!r}",
                file=str(self._place(PROFILE_KEY)),
                key=PROFILE_KEY,
                hint=_known(known),
            )
        return known[self.profile]

    def _own_profile(self, prefix: str, name: str) -> bool:
        """A profile that a site wrote has the parameters that HiBench's own have."""
        own = shipped_profiles().get(self.workload, {})
        parameters = {parameter for profile in own.values() for parameter in profile}
        return any(f"{prefix}{name}.{parameter}" in self.values for parameter in parameters)

    def _place(self, key: str) -> Place | Path:
        return self.places.get(key, self.folder / "conf")

    def _expand(self, text: str, key: str, through: tuple[str, ...]) -> str:
        for _ in range(_MOST_STEPS):
            match = _INNERMOST.search(text)
            if match is None:
                return text
            text = text[: match.start()] + self._value(match[1], key, through) + text[match.end() :]
        raise ConfigError("never ends: each value has another ${...}", file=str(self._place(key)), key=key)

    def _value(self, said: str, key: str, through: tuple[str, ...]) -> str:
        name, *default = _DEFAULT.split(said, maxsplit=1)
        if name in (*through, key):
            circle = " -> ".join((*through, key, name))
            raise ConfigError(f"refers to itself: {circle}", file=str(self._place(key)), key=key)
        if name in self.values:
            return self._expand(self.values[name], name, (*through, key))
        if default and default != [":_", ""]:
            return default[1]
        raise ConfigError(
            f"${{{name}}} is not defined",
            file=str(self._place(key)),
            key=key,
            hint=did_you_mean(name, self.values),
        )


def read_checkout(folder: Path, workload: str, given: Mapping[str, str] | None = None) -> Conf:
    """The configuration of one workload (``micro/wordcount``) in a checkout.

    ``given`` wins over the files, such as another profile. ``hibench.home`` is the checkout. UserError when it is none,
    ConfigError with file and line for a line that cannot be read.
    """
    conf = folder / "conf"
    if not (conf / "hibench.conf").is_file():
        raise UserError("this is not a HiBench checkout", where=str(folder), hint="It would have conf/hibench.conf")
    own = conf / "workloads" / f"{workload}.conf"
    if not own.is_file():
        known = sorted(
            path.relative_to(conf / "workloads").with_suffix("").as_posix() for path in own.parents[1].glob("*/*.conf")
        )
        raise UserError(f"there is no workload {workload!r}", where=str(folder), hint=did_you_mean(workload, known))
    values: dict[str, str] = {"hibench.home": str(folder)}
    places: dict[str, Place] = {}
    for file in (*sorted(conf.glob("*.conf")), own):
        for number, key, value in _lines(file):
            values[key] = value
            places[key] = Place(file, number)
    values |= given or {}
    for key in given or {}:
        places.pop(key, None)
    conf_read = Conf(folder, workload, values, places, given or {})
    return _renamed(_spliced(conf_read))


def _lines(file: Path) -> list[tuple[int, str, str]]:
    text = read_text(file)
    settings = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split(maxsplit=1)
        if not words or words[0].startswith("#"):
            continue
        for part in words:
            if part.count("${") != part.count("}") and "${" in part:
                raise ConfigError(f"{part!r} has a ${{ that does not end", file=f"{file}:{number}")
        settings.append((number, words[0], words[1].strip() if len(words) > 1 else ""))
    return settings


def _spliced(conf: Conf) -> Conf:
    """The same with ``${...}`` in keys replaced."""
    values, places = dict(conf.values), dict(conf.places)
    for key in [key for key in values if "${" in key]:
        name = conf._expand(key, key, ())
        values[name], places[name] = values.pop(key), places.pop(key)
    return Conf(conf.folder, conf.workload, values, places, conf.given)


def _renamed(conf: Conf) -> Conf:
    """The same after the rules with stars."""
    values, places = dict(conf.values), dict(conf.places)
    for rule in [key for key in conf.values if "*" in key]:
        target = values.pop(rule)
        if target.count("*") != rule.count("*"):
            continue
        pattern = re.compile("(.*)".join(re.escape(part) for part in rule.split("*")))
        for key in [key for key in values if "*" not in key]:
            match = pattern.fullmatch(key)
            if match is not None:
                pieces = iter(match.groups())
                name = re.sub(r"\*", lambda _, pieces=pieces: next(pieces), target)  # type: ignore[misc]
                values[name] = values.pop(key)
                places[name] = places.get(key, places[rule])
    return Conf(conf.folder, conf.workload, values, places, conf.given)


def _known(profiles: Mapping[str, object]) -> str:
    order = {name: at for at, name in enumerate(PROFILES)}
    return f"Known: {', '.join(sorted(profiles, key=lambda name: (order.get(name, len(order)), name)))}"
