"""The way from a file in `policies/preemption/` to a preemption policy.

Such a file has a docstring, a ``NAME``, and ``preempt(victims)``, which answers with a list of a `Choice` for each
victim, in the order of the victims. The core follows the choices (`fawkes.core.preemption.preempt`): it adds up the
queues, keeps promised times and caps kills, so that no policy can break either.
"""

from __future__ import annotations

from fawkes.core.preemption.values import Choose, Victim, checked
from fawkes.core.values.events import PolicyText
from fawkes.policy import load_policy, try_out

_EXAMPLE = 'A preemption policy has NAME = "..." and def preempt(victims): ...'
#: victims that a policy must be able to answer: usual, fresh with an earlier image, and with nothing known
_PROBES = (
    (),
    (Victim(id="probe-1", node="probe", progress_s=60.0, dump_s=10.0, restore_s=10.0, queue_s=0.0),),
    (
        Victim(id="probe-1", node="probe", progress_s=0.0, dump_s=1.0, restore_s=9.0, queue_s=5.0, incremental=True),
        Victim(id="probe-2", node="probe", progress_s=None, dump_s=None, restore_s=None, queue_s=None, kills=9),
    ),
)
#: steps of the interpreter for each victim, in addition to those of every answer
_STEPS_A_VICTIM = 200


def compile_preemption(policy: PolicyText, *, own: bool = False) -> Choose:
    """The preemption policy of a file's text, in this process: in a worker, or ``own``.

    ConfigError names the file and the line for a syntax error, an import or a name that is not allowed, a missing
    ``NAME`` or function, and a policy that fails on a few victims.
    """
    module = load_policy(policy, ("preempt",), _EXAMPLE, own=own)

    def preempt(victims: object) -> object:
        return module.call("preempt", (victims,), {}, more_steps=_STEPS_A_VICTIM * len(victims))  # type: ignore[arg-type]

    try_out(lambda victims: checked(victims, preempt(victims)), _PROBES, policy.origin)  # type: ignore[arg-type]
    return preempt  # type: ignore[return-value]
