"""The one thing that the controller tells a ResourceManager over HTTP: to kill an application."""

from __future__ import annotations

from fawkes.errors import FawkesError
from fawkes.live.masters import MasterAddresses
from fawkes.live.rest import Deadline, UnreadableError, put_json

_ACCEPTED = (200, 202)


def kill(masters: MasterAddresses, application: str, deadline: Deadline) -> None:
    """Ask for the end of an application; FawkesError when the ResourceManager refuses or does not answer."""
    url = f"{masters.resource_manager}/ws/v1/cluster/apps/{application}/state"
    try:
        status = put_json(url, {"state": "KILLED"}, deadline, {"user.name": masters.user})
    except UnreadableError as error:
        raise FawkesError(f"{application} could not be killed: {error.why}", where=url) from error
    if status not in _ACCEPTED:
        raise FawkesError(f"{application} could not be killed: HTTP {status}", where=url)
