"""One run of the study: the compiled pool for the bundled policies, the readable one for all others."""

from __future__ import annotations

from fawkes.base.catalog import Catalog, CatalogFile, Kind, Origin
from fawkes.core.state.admitting import Admission
from fawkes.offline.studies.flat.allocators import KINDS, Allocator, settings_of
from fawkes.offline.studies.flat.jobs import FlatJobs
from fawkes.offline.studies.flat.metrics import FlatOutcome
from fawkes.offline.studies.flat.pool import FlatPool
from fawkes.policy.worker.policies import load_admission, policy_text


def policy_named(allocator: Allocator, catalog: Catalog) -> CatalogFile:
    """The file of an allocator's policy; UserError when there is none."""
    return catalog.find(Kind.ADMISSION, allocator.policy)


def is_compiled(policy: CatalogFile) -> bool:
    """True if the compiled pool knows this policy: it came with Fawkes."""
    ours = policy.origin is Origin.BUNDLED or Catalog().came_with_fawkes(policy)
    return ours and policy.title.upper() in KINDS


def admission_of(policy: CatalogFile, allocator: Allocator) -> Admission:
    """The policy with the allocator's options; ConfigError names a wrong option, or what is wrong in the file."""
    text = policy_text(policy.title, str(policy.path), policy.text())
    return load_admission(text, allocator.options)


def check(allocator: Allocator, policy: CatalogFile) -> None:
    """Refuse wrong options before anything runs: UserError or ConfigError."""
    if is_compiled(policy):
        settings_of(allocator, 1)
    else:
        admission_of(policy, allocator)


def play(
    jobs: FlatJobs, capacity: int, allocator: Allocator, policy: CatalogFile, *, readable: bool = False
) -> FlatOutcome:
    """Share so many CPUs among jobs with deadlines; ``readable``: by the policy's own file, whatever it is.

    UserError or ConfigError for a policy that cannot be run, or that fails.
    """
    if is_compiled(policy) and not readable:
        from fawkes.offline.studies.flat.engine import run_compiled

        return run_compiled(jobs, capacity, allocator)
    admission = admission_of(policy, allocator)
    return FlatPool(
        jobs, capacity, admission, knows_killed=allocator.teaches_killed_work, origin=str(policy.path)
    ).run()
