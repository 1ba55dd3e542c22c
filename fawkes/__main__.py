"""``python -m fawkes``."""

from fawkes.cli.main import main

main()
