"""Ansible's inventories: the JSON of ``ansible-inventory --list``, asked for or read from a file."""

from __future__ import annotations

import argparse
import configparser
import json
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fawkes.base.errors import ConfigError, cut
from fawkes.base.reading import is_file, read_text
from fawkes.config.files.loader import Faults
from fawkes.config.files.nodeset import MOST_NODES
from fawkes.config.nodes.hops import NONE
from fawkes.config.nodes.programs import MOST_OUTPUT, output_of
from fawkes.config.nodes.sources import ALL, Source, Words, beside

_OWN = "fawkes_"
_RUN_S = 60.0
#: Ansible takes a file that it cannot read for an empty one, and ends with 0
_STRICT = {"ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "1", "ANSIBLE_INVENTORY_UNPARSED_FAILED": "1"}
#: where a host has both, Ansible takes the one with ssh
_WORDS = {
    "address": ("ansible_ssh_host", "ansible_host"),
    "port": ("ansible_ssh_port", "ansible_port"),
    "user": ("ansible_ssh_user", "ansible_user"),
    "key": ("ansible_ssh_private_key_file", "ansible_private_key_file"),
}
_ARGUMENTS = ("ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args")
_SECRET = re.compile(r"ansible_(ssh_)?(pass|password|private_key_passphrase)")
_BY_SSH = ("ssh", "smart", "paramiko", "paramiko_ssh")
#: keys of ansible.cfg that change how Ansible reaches a host
_CONFIGURED = {
    "defaults": ("remote_port", "remote_user", "private_key_file", "transport"),
    "ssh_connection": ("ssh_args", "ssh_common_args", "ssh_extra_args"),
}
_SITE_CONFIG = "/etc/ansible/ansible.cfg"
_PROXY = "ansible_paramiko_proxy_command"
_NUMBERS: Mapping[str, Callable[[str], int | float]] = {"port": int, "cores": int, "capacity": float}
_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}
_NAME = re.compile(r"\{\{\s*inventory_hostname\s*\}\}")
_RANGE = re.compile(r"\[(\d{1,18}):(\d{1,18})[:\]]")
_META = "_meta"
#: the section that an INI file begins with has neither behind its bracket
_AS_JSON = re.compile(r'\s*(\{|\[\s*["{])')
_SSH = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
for _flag in "46AaCfGgKkMNnqsTtVvXxYy":
    _SSH.add_argument(f"-{_flag}", action="store_true")
for _option in "BbcDEeFIiJLlmOoPpQRSWw":
    _SSH.add_argument(f"-{_option}", action="append", default=[])
_OPTION = re.compile(r"\s*(\w+)\s*[=\s]\s*(.*)", re.DOTALL)
#: whoever gives these to ssh reaches another place, or as somebody else
_ELSEWHERE = {"-F", "-l", "-p", "-W", "-o hostname", "-o port", "-o user", "-o proxycommand"}
_ELSE_HINT = 'Write the variable for it (ansible_host, ansible_port, ansible_user), or "-o ProxyJump=HOST"'
_NOT_ITS_OUTPUT = "is not what `ansible-inventory --list` prints"
_AGAIN = "Write the file again: `ansible-inventory -i INVENTORY --list > FILE`"


def read_ansible(path: Path, hint: str) -> Source:
    """The inventory at ``path``: a file with the output of ``ansible-inventory --list``, else one of Ansible's own.

    Ansible is asked only about its own. ``hint`` is what to do when there is no such file. ConfigError when a file is
    wrong, UserError when Ansible does not answer.
    """
    text = "" if os.path.isdir(path) else read_text(path, most=MOST_OUTPUT, hint=hint)
    if path.suffix == ".json" or (_AS_JSON.match(text) and path.suffix not in (".yml", ".yaml")):
        _refuse_broken(text, path)
    if not (text.lstrip().startswith("{") and f'"{_META}"' in text):
        _refuse_too_many(text, path)
        command = ["ansible-inventory", "-i", str(path.absolute()), "--list"]
        text = output_of(command, within_s=_RUN_S, folder=path.parent, environment=_STRICT)
    try:
        data = json.loads(text)
        variables = {name: dict(table) for name, table in data.pop(_META)["hostvars"].items()}
        groups = {
            name: {key: _names(table.get(key, [])) for key in ("hosts", "children")} for name, table in data.items()
        }
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise ConfigError(_NOT_ITS_OUTPUT, file=str(path), hint=_AGAIN) from None
    groups[ALL] = groups.get("all", {})
    notes = dict.fromkeys(_configured(path.parent))

    def words(name: str, faults: Faults) -> Words:
        return _Host(name, variables.get(name, {}), path, faults, notes).words()

    return Source("ansible", str(path), groups, partial(_hosts, groups), words, notes=notes)


def _configured(folder: Path) -> list[str]:
    """Notes on ways to hosts in Ansible's configuration: Fawkes reads the inventory alone."""
    places = [os.environ.get("ANSIBLE_CONFIG", ""), f"{folder}/ansible.cfg", "~/.ansible.cfg", _SITE_CONFIG]
    file = next((path for path in map(os.path.expanduser, places) if is_file(Path(path))), "")
    config = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        config.read([file] if file else [])
    except (OSError, ValueError, configparser.Error):
        return [f"{file}: cannot be read, so nobody knows whether it names other ways to hosts"]
    keys = [key for section, keys in _CONFIGURED.items() for key in keys if config.has_option(section, key)]
    return [f"{file}: Fawkes does not use {key}: write it as a variable of the hosts" for key in keys]


def _names(names: object) -> list[str]:
    """The names in a list of JSON; TypeError for anything else."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TypeError("a group is not made of names")
    return names


def _hosts(groups: Mapping[str, Mapping[str, Sequence[str]]], group: str) -> dict[str, None]:
    """The hosts of a group and of the groups below it, each once; a group below itself counts once as well."""
    hosts: dict[str, None] = {}
    left, seen = [group], {group}
    for name in left:
        table = groups.get(name, {})
        hosts.update(dict.fromkeys(table.get("hosts", ())))
        below = [child for child in table.get("children", ()) if child not in seen]
        seen.update(below)
        left += below
    return hosts


def _refuse_broken(text: str, path: Path) -> None:
    """Ansible need not be there to see that a text is no JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ConfigError(f"{_NOT_ITS_OUTPUT}: {error.msg}", file=str(path), key=place, hint=_AGAIN) from None
    except (ValueError, RecursionError):
        raise ConfigError(_NOT_ITS_OUTPUT, file=str(path), hint=_AGAIN) from None


def _refuse_too_many(text: str, path: Path) -> None:
    """A slip such as ``node[1:1000000]`` would keep Ansible busy for minutes."""
    for match in _RANGE.finditer(text):
        if (count := int(match[2]) - int(match[1]) + 1) > MOST_NODES:
            line = f"line {text.count(chr(10), 0, match.start()) + 1}"
            what, hint = f"{match[0]!r} names {count:,} hosts", f"A pool has at most {MOST_NODES:,} nodes"
            raise ConfigError(what, file=str(path), key=line, hint=hint)


@dataclass(frozen=True)
class _Host:
    """A host with its variables; what cannot be taken goes to ``faults``, and what is not used to ``notes``."""

    name: str
    variables: Mapping[str, Any]
    path: Path
    faults: Faults
    notes: dict[str, None]

    def words(self) -> Words:
        """The keys of the host from its variables ``ansible_*`` and ``fawkes_*``; all others are ignored."""
        self._refuse_unfit()
        names = {key: next(filter(self.variables.__contains__, words), "") for key, words in _WORDS.items()}
        names |= {word.removeprefix(_OWN): word for word in self.variables if word.startswith(_OWN)}
        taken = {key: (word, self._value(key, word)) for key, word in names.items() if word}
        for word in filter(self.variables.__contains__, _ARGUMENTS):
            if jump := self._jump(word):
                taken.setdefault("proxy_jump", (word, jump))  # as with ssh, the first one counts
        return {key: (word, value) for key, (word, value) in taken.items() if value is not None}

    def _refuse_unfit(self) -> None:
        """Refuse a host that Ansible reaches in another way than Fawkes; secrets are not looked at."""
        for word in filter(_SECRET.fullmatch, self.variables):
            hint = "Give the host a key that needs no passphrase, or the SSH agent, and remove the variable"
            self._add("Fawkes logs in with keys alone, and reads no secrets", word, hint)
        connection = str(self.variables.get("ansible_connection", "ssh")).removeprefix("ansible.builtin.")
        if connection not in _BY_SSH:
            self._add("Fawkes reaches nodes by SSH alone", "ansible_connection", "Take the host out of the group")
        if connection.startswith("paramiko") and self.variables.get(_PROXY):
            self._add("is not supported", _PROXY, _ELSE_HINT)

    def _value(self, key: str, word: str) -> Any:
        """A variable as a value of TOML; numbers and booleans of an INI file are text. None if it cannot be taken."""
        value = self.variables[word]
        if "ANSIBLE_VAULT" in repr(value).upper():
            self._add("is encrypted by Ansible Vault, and Fawkes reads no secrets", word, "Do not encrypt it")
            return None
        if not isinstance(value, str):
            return value
        value = _NAME.sub(lambda _: self.name, value)
        if "{{" in value or "{%" in value:
            self._add("is a template, which `ansible-inventory` does not fill in", word, "Write the value itself")
            return None
        if key == "key":
            return str(beside(self.path.parent, Path(os.path.expanduser(value)))) if value else value
        if key == "core":
            return _BOOLEANS.get(value.lower(), value)
        try:
            return _NUMBERS.get(key, str)(value)
        except ValueError:
            return value

    def _jump(self, word: str) -> str | None:
        """``ProxyJump`` in arguments for ssh, None without one; a note says which other options are not used.

        Values are in no text: they may have a password.
        """
        try:
            options, rest = _SSH.parse_known_args(shlex.split(str(self._value("", word) or "")))
        except (ValueError, argparse.ArgumentError):
            rest = [""]
        if rest:
            self._add("is not a list of arguments for ssh", word, "Close its quotes, and give each option a value")
            return None
        jumps: list[str] = options.J
        others = [f"-{letter}" for letter, given in vars(options).items() if given and letter not in "Jo"]
        for option in options.o:
            parts = _OPTION.fullmatch(option)
            name, value = (parts[1], parts[2].strip()) if parts else ("", "")
            if name.lower() == "proxyjump":
                jumps = [*jumps, value]
            elif (name.lower(), value.lower()) != ("proxycommand", NONE):
                others.append(f"-o {name}".strip())
        for other in others:
            if other == "-o" or (other.lower() if other.startswith("-o") else other) in _ELSEWHERE:
                self._add(f"{other} is not supported", word, _ELSE_HINT)
        self.notes.update(dict.fromkeys(f"{self.path}: {word}: Fawkes does not use {cut(other)}" for other in others))
        return jumps[0] if jumps else None

    def _add(self, what: str, word: str, hint: str) -> None:
        self.faults.add(what, f"{cut(self.name)}.{cut(word)}", hint)
