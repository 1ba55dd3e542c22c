"""Text from nodes, jobs and people, made harmless for who shows it; ``parts.js`` of the page does the same."""

from __future__ import annotations

import re

#: everything that a terminal may obey or that hides what is there: controls but for line feed and tab, separators of
#: lines that no reader takes for one, and marks that change the direction of writing
_STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


def visible(text: str) -> str:
    """The text with each character that steers written as an escape, such as ``\\x1b``."""
    return _STEERS.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
