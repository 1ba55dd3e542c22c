"""``python -m docs.make``: write anew whatever in the documents is made from the code."""

from __future__ import annotations

import sys
from pathlib import Path

from docs.make.pages import made


def main() -> None:
    """Write each file that differs from the code, and name it on stderr."""
    root = Path(__file__).parents[2]
    for path, text in made(root).items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            sys.stderr.write(f"{path.relative_to(root)}\n")


if __name__ == "__main__":
    main()
