"""The one thing that the controller tells a ResourceManager over HTTP: to kill an application."""

from __future__ import annotations

import requests

from fawkes.errors import FawkesError
from fawkes.live.masters import MasterAddresses
from fawkes.live.rest import Deadline

_ACCEPTED = (200, 202)


def kill(masters: MasterAddresses, application: str, deadline: Deadline) -> None:
    """Ask for the end of an application; FawkesError when the ResourceManager refuses or does not answer."""
    url = f"{masters.resource_manager}/ws/v1/cluster/apps/{application}/state"
    with requests.Session() as session:
        session.trust_env = False
        try:
            answer = session.put(
                url,
                params={"user.name": masters.user},
                json={"state": "KILLED"},
                timeout=max(0.1, deadline.left()),
            )
        except requests.RequestException as error:
            raise FawkesError(f"{application} could not be killed: {error}", where=url) from error
    if answer.status_code not in _ACCEPTED:
        raise FawkesError(f"{application} could not be killed: HTTP {answer.status_code}", where=url)
