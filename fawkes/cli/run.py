"""`fawkes run`: the controller."""

from __future__ import annotations

import click

from fawkes.cli import completion
from fawkes.config.site import Site


@click.command()
@click.option("--shadow", is_flag=True, help="Watch and decide, but do nothing: see what would be moved, and why.")
@click.option("--preset", help="Preset of settings instead of the one in fawkes.toml.")
@click.option(
    "--policy",
    help="Weighting policy, by name or path, instead of the one in fawkes.toml.",
    shell_complete=completion.policies,
)
@click.option("-v", "--verbose", count=True, help="Log more to standard error; twice for everything.")
@click.pass_obj
def run(site: Site, shadow: bool, preset: str | None, policy: str | None, verbose: int) -> None:
    """Control the pool: deploy MR-clusters, run their jobs, keep them balanced.

    Stays in the foreground. Stopping it (Ctrl-C, or `fawkes down --keep`) leaves MR-clusters and jobs as they are;
    started again, it takes them up.
    """
    import logging

    from fawkes.live.controller import Controller, plan

    level = {0: logging.WARNING, 1: logging.INFO}.get(verbose, logging.DEBUG)
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for noisy in ("paramiko", "apscheduler", "urllib3", "hdfs"):
        logging.getLogger(noisy).setLevel(logging.DEBUG if verbose > 1 else logging.ERROR)
    ready = plan(site, shadow=shadow, preset=preset, policy=policy)
    Controller(ready, lambda line: click.echo(line, err=True)).run()
