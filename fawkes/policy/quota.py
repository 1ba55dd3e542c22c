"""The way from a file in `policies/quota/` to a quota policy.

Such a file has a docstring, a ``NAME``, and ``divide(claims)``, which answers with a list of a `Portion` for each claim
on the cores of a node, or on the nodes of the pool, in the order of the claims. The core fills by these portions
(`fawkes.core.quota.supervisor`), so that no policy can give away more than there is.
"""

from __future__ import annotations

from fawkes.core.quota.supervisor import checked
from fawkes.core.quota.values import Claim, Divide
from fawkes.core.values.events import PolicyText
from fawkes.policy import load_policy, try_out

_EXAMPLE = 'A quota policy has NAME = "..." and def divide(claims): ...'
#: claims that a policy must be able to answer: alone, equal, without a deadline, late, and without a rate
_PROBES = (
    (Claim(id="probe-1", requested=2.0, most=4.0, left_s=60.0, rate=100.0),),
    (Claim(id="probe-1", requested=0.0, most=4.0), Claim(id="probe-2", requested=0.0, most=4.0)),
    (
        Claim(id="probe-1", requested=3.0, most=4.0, left_s=-5.0, rate=200.0),
        Claim(id="probe-2", requested=3.0, most=4.0, left_s=60.0, weight=0.0),
        Claim(id="probe-3", requested=3.0, most=4.0, rate=100.0, least=1.0),
    ),
)


def compile_quota(policy: PolicyText, *, own: bool = False) -> Divide:
    """The quota policy of a file's text, in this process: in a worker, or ``own``.

    ConfigError names the file and the line for a syntax error, an import or a name that is not allowed, a missing
    ``NAME`` or function, and a policy that fails on a few claims.
    """
    module = load_policy(policy, ("divide",), _EXAMPLE, own=own)

    def divide(claims: object) -> object:
        return module.call("divide", (claims,), {})

    try_out(lambda claims: checked(claims, divide(claims)), _PROBES, policy.origin)  # type: ignore[arg-type]
    return divide  # type: ignore[return-value]
