"""`fawkes web`: a page to look at, and metrics, of a site or of a simulated run."""

from __future__ import annotations

from pathlib import Path

import click

from fawkes.base.extras import needs
from fawkes.cli.show.show import note
from fawkes.config.site.site import Site

PORT = 8042


@click.command()
@click.option("--run", "folder", type=click.Path(path_type=Path), metavar="DIR", help="The folder of a simulated run.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Port on 127.0.0.1; 0: any free one."
)
@click.option("--key-file", type=click.Path(path_type=Path), help="A file with the key, mode 0600; else a new key.")
@click.option("--no-key", is_flag=True, help="Let every user of this machine look.")
@click.option("--name", "names", multiple=True, help="A name by which a proxy asks for the page; repeatable.")
@click.pass_obj
@needs("fawkes web", "web")
def web(
    site: Site, folder: Path | None, port: int, key_file: Path | None, no_key: bool, names: tuple[str, ...]
) -> None:
    """Serve a page with MR-clusters, nodes, jobs and the reasons of moves, and /metrics for Prometheus.

    It is a process of its own that only reads: it needs no controller, and cannot hold one up. It listens on 127.0.0.1;
    from elsewhere, `ssh -L 8042:127.0.0.1:8042 HOST` or a proxy with TLS comes to it. Ends with Ctrl-C.
    """
    from fawkes.report.web.serve import LOOPBACK, key_of, serve
    from fawkes.store.sqlite import LedgerReader

    if no_key and key_file is not None:
        raise click.UsageError("--no-key and --key-file exclude each other.")
    state = site.state_dir if folder is None else Site(folder).state_dir
    LedgerReader(state).close()
    key = "" if no_key else key_of(key_file)

    def ready(chosen: int) -> None:
        click.echo(f"http://{LOOPBACK}:{chosen}/" + (f"?key={key}" if key and key_file is None else ""))
        note("the page is there until Ctrl-C; /metrics and the API take the key as a bearer token")

    serve(state, port=port, key=key, names=names, ready=ready)
