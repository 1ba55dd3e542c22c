"""The settings of drills: short patience, so that a mixture of faults has its end within minutes."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from fawkes.base.catalog import Catalog
from fawkes.config.settings.settings import SiteSettings, settings_of

#: fawkes.toml of the real drills; the simulated ones decide by the same
SETTINGS = """
preset = "demo"
period = "12s"
sample_every = "4s"
idle_time = "never"
transient_leave = "5s"
transient_core_leave = "5s"
evacuate_alert = "30s"
quarantine = "30s"
deploy_attempts = 3
[timeouts]
join = "60s"
clean = "40s"
deploy = "120s"
membership = "10s"
transfer = "120s"
start_job = "60s"
[patience]
missing = "6s"
silent = "20s"
doubt = "6s"
held = "4s"
heard = "5s"
quiet = "15s"
journal = "10s"
[ssh]
connect_timeout = "5s"
command_timeout = "60s"
"""


@cache
def settings() -> SiteSettings:
    """The same, as the controller reads them."""
    here = Path(__file__)
    catalog = Catalog(site=here.parent, bundled=here.parents[1])
    return settings_of(tomllib.loads(SETTINGS), file="fawkes.toml", base=here.parent, catalog=catalog)
