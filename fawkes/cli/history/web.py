"""`fawkes web`: a page to look at, and metrics, of a site or of a simulated run."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fawkes.base.errors import FawkesError
from fawkes.base.extras import needs
from fawkes.cli.asking.client import Client, HungUpError, NoControllerError
from fawkes.cli.asking.ledger import unwell
from fawkes.cli.show.show import note
from fawkes.config.site.site import Site
from fawkes.store.lock import holder

if TYPE_CHECKING:
    from fawkes.config.settings.tokens import Token
    from fawkes.config.settings.web import WebTable
    from fawkes.report.web.acting import Acting, Passed


@click.command()
@click.option("--run", "folder", type=click.Path(path_type=Path), metavar="DIR", help="The folder of a simulated run.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port; 0: any free one.  [default: that of [web], else 8042]"
)
@click.option("--key-file", type=click.Path(path_type=Path), help="A file with the key, mode 0600; else a new key.")
@click.option("--no-key", is_flag=True, help="Let every user of this machine look.")
@click.option("--name", "names", multiple=True, help="A name by which a proxy asks for the page; repeatable.")
@click.option("--beside", is_flag=True, hidden=True, help="End with standard input: `fawkes run` has started it.")
@click.pass_obj
@needs("fawkes web", "web")
def web(
    site: Site,
    folder: Path | None,
    port: int | None,
    key_file: Path | None,
    no_key: bool,
    names: tuple[str, ...],
    beside: bool,
) -> None:
    """Serve a page with MR-clusters, nodes, jobs and the reasons of moves, and /metrics for Prometheus.

    It is a process of its own that reads the ledger: it needs no controller, and cannot hold one up. It listens on
    127.0.0.1; from elsewhere, `ssh -L 8042:127.0.0.1:8042 HOST` or a proxy with TLS comes to it. Ends with Ctrl-C.

    With [web] in fawkes.toml it listens there, with TLS if there are files for it, and holders of tokens act through
    it: the controller judges what they ask for by the roles of their tokens. `fawkes run` starts it then.
    """
    from fawkes.config.files.nodeset import is_host_name
    from fawkes.config.settings.tokens import LOOPBACK, PORT
    from fawkes.report.web.serve import key_of, serve
    from fawkes.store.sqlite import LedgerReader

    if no_key and key_file is not None:
        raise click.UsageError("--no-key and --key-file exclude each other.")
    for name in names:
        if not is_host_name(name):
            raise click.UsageError(f"--name: {name!r} is not the name of a host.")
    acts = site.settings().web if folder is None else None
    if acts is not None:
        if no_key:
            raise click.UsageError("--no-key would open a page that [web] in fawkes.toml has tokens for.")
        acts.check(site.settings_file)
    shown = site if folder is None else Site(folder)
    state = shown.state_dir
    if beside:
        threading.Thread(target=_end_with_input, name="beside", daemon=True).start()
    else:
        LedgerReader(state).close()
    key = "" if no_key else None if acts is not None and key_file is None else key_of(key_file)
    # Without [web] nothing of its form is loaded: that takes a seventh of what the page of a run does.
    host, own = (LOOPBACK, PORT) if acts is None else (acts.host, acts.port)
    tls = None if acts is None else acts.tls(site.root)

    def ready(chosen: int) -> None:
        query = f"?key={key}" if key and key_file is None else ""
        click.echo(f"http{'s' * bool(tls)}://{host}:{chosen}/{query}")
        note("the page is there until Ctrl-C; /metrics and the API take the key as a bearer token")

    serve(
        state,
        port=own if port is None else port,
        key=key,
        names=(*names, *(() if acts is None else acts.names)),
        ready=ready,
        host=host,
        tls=tls,
        acting=None if acts is None else _acting(site, acts),
        idle=lambda: _idle(shown),
    )


def _idle(site: Site) -> str:
    """The reason why a controller that is alive decides nothing; empty when it decides, starts, or is not there."""
    held = holder(site.state_dir)
    return "" if held is None else unwell(site, held, lambda line: None)


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


def _acting(site: Site, table: WebTable) -> Acting:
    """The way to the controller of a site for holders of tokens, over its socket."""
    from fawkes.config.settings.tokens import Tokens
    from fawkes.live.controller.asks import described
    from fawkes.report.web.acting import STATUSES, Acting

    return Acting(Tokens(site.root / table.tokens), lambda *call: passed(site, *call), described("/api", *STATUSES))


def passed(site: Site, method: str, path: str, body: bytes | None, token: Token) -> Passed:
    """The answer of a site's controller to a request for the holder of a token; errors are answers as well."""
    from http import HTTPStatus

    from fawkes.live.controller.control import status_of
    from fawkes.live.controller.endpoint import ROLE, TOKEN

    try:
        return Client(site).passed(method, path, body, {TOKEN: token.name, ROLE: token.role})
    except FawkesError as error:
        none, broken = isinstance(error, NoControllerError), isinstance(error, HungUpError)
        status = HTTPStatus.SERVICE_UNAVAILABLE if none else HTTPStatus.BAD_GATEWAY if broken else status_of(error)
        return status, "application/json", json.dumps(error.plain()).encode()
