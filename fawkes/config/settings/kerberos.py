"""``[kerberos]`` in ``fawkes.toml``: the realm of the site, and where the keys of its MR-clusters are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from fawkes.config.files.loader import Strict, wrong

_REALM = re.compile(r"[A-Z0-9][A-Z0-9.-]*")
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")


def _realm(value: str) -> str:
    if not _REALM.fullmatch(value):
        raise wrong(f"{value!r} is not a realm", "Write it as the KDC has it, such as EXAMPLE.ORG")
    return value


def _user(value: str) -> str:
    if not _USER.fullmatch(value):
        hint = "Write the first part of the principal, such as alice for alice@EXAMPLE.ORG"
        raise wrong(f"{value!r} is not the name of a user in the realm", hint)
    return value


KerberosUser = Annotated[str, AfterValidator(_user)]


class KerberosTable(Strict):
    """``[kerberos]``: for MR-clusters with ``security = "kerberos"``."""

    realm: Annotated[str, AfterValidator(_realm)] = Field(description="the realm, such as EXAMPLE.ORG")
    krb5_conf: str = Field(
        default="/etc/krb5.conf", min_length=1, description="the file that says where the KDCs are; nodes get a copy"
    )
    keytabs: str = Field(
        default="keytabs", min_length=1, description="the folder with a keytab for each MR-cluster, NAME.keytab"
    )


@dataclass(frozen=True, slots=True)
class KerberosSite:
    """The same with absolute paths; ``file`` is the settings file, for messages."""

    file: str
    realm: str
    krb5_conf: Path
    keytabs: Path

    @classmethod
    def of(cls, table: KerberosTable, file: str, base: Path) -> KerberosSite:
        """Make it from a checked table; paths are relative to ``base``."""
        return cls(file, table.realm, (base / table.krb5_conf).absolute(), (base / table.keytabs).absolute())
