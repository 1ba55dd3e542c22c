"""The queues of an MR-cluster's YARN: one for everybody, and one for each job whose MR-jobs run in turn."""

from __future__ import annotations

from collections.abc import Mapping

_PREFIX = "yarn.scheduler.capacity"
ROOT = f"{_PREFIX}.root."
"""How the keys begin by which an administrator divides YARN by queues himself."""

_GRANTED = f"{ROOT}granted"


def granted_queue(sites: Mapping[str, Mapping[str, str]], name: str) -> str:
    """The queue of that name whose jobs run one at a time, made by the first; empty where there are none."""
    made = sites["capacity-scheduler"].get(f"{_GRANTED}.auto-queue-creation-v2.enabled") == "true"
    return f"root.granted.{name}" if made else ""


def _queues(*, granted: bool) -> dict[str, str]:
    """Queues by weight, so that they can come and go; below ``granted`` each is for the MR-jobs of one job, in turn."""
    if not granted:
        return {f"{ROOT}queues": "default", f"{ROOT}default.capacity": "100"}
    template = f"{_GRANTED}.auto-queue-creation-v2.leaf-template"
    return {
        f"{ROOT}queues": "default,granted",
        f"{ROOT}default.capacity": "1w",
        f"{_GRANTED}.capacity": "1w",
        f"{_GRANTED}.auto-queue-creation-v2.enabled": "true",
        f"{template}.max-parallel-apps": "1",
        f"{template}.user-limit-factor": "100",
        f"{_PREFIX}.auto-queue-creation-v2.queue-expiration-time": "60",
    }


def monitor(*, granted: bool) -> dict[str, str]:
    """Queues that nobody uses any more go: a ResourceManager keeps figures of each."""
    if not granted:
        return {}
    package = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity"
    return {
        "yarn.resourcemanager.scheduler.monitor.enable": "true",
        "yarn.resourcemanager.scheduler.monitor.policies": f"{package}.AutoCreatedQueueDeletionPolicy",
    }


def scheduler(user: str, core_count: int, *, granted: bool) -> dict[str, str]:
    """The keys of ``capacity-scheduler``; with ``granted`` jobs can have queues of their own."""
    prefix = _PREFIX
    return {
        **_queues(granted=granted),
        f"{prefix}.root.default.maximum-capacity": "100",
        f"{prefix}.root.default.state": "RUNNING",
        f"{prefix}.root.default.user-limit-factor": "100",
        f"{prefix}.root.acl_administer_queue": user,
        f"{prefix}.maximum-am-resource-percent": "0.5",
        f"{prefix}.maximum-applications": "10000",
        f"{prefix}.resource-calculator": "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator",
        # Wait for a local node as long as each core node needs to say once that it has room, not 40 times.
        f"{prefix}.node-locality-delay": str(max(1, core_count)),
    }
