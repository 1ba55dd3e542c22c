"""The parts that a controller is started with, and its settings when they are read again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from json import dumps
from typing import TypeVar

from fawkes.base.catalog import CatalogFile
from fawkes.base.errors import ConfigError
from fawkes.base.units import SECOND_US
from fawkes.base.version import __version__
from fawkes.config.nodes.inventory import Inventory, InventoryNode, inventory_node
from fawkes.config.settings.reload import reread
from fawkes.config.settings.settings import SiteSettings
from fawkes.config.site.site import Site
from fawkes.core.deciding.places import is_there, other_place
from fawkes.core.deciding.ruling import LeaseSeen
from fawkes.core.state.state import State
from fawkes.core.values.events import PolicyText, Reloaded, Started
from fawkes.core.values.lifecycle import HELD
from fawkes.core.values.model import Node, NodeId
from fawkes.core.values.settings import Settings
from fawkes.engine import Engine
from fawkes.live.controller.access import Access, access_of
from fawkes.live.hadoop.own_code import open_to_others, own_code
from fawkes.live.nodes.ground import ControllerIdentity
from fawkes.live.nodes.playbooks import site_playbooks
from fawkes.policy.worker.asking import USUAL, WorkerLimits
from fawkes.policy.worker.policies import (
    admission_loader,
    load_preemption,
    load_quota,
    loader,
    parameters_in,
    policy_text,
    probe,
)

T = TypeVar("T")
_CAPACITY_UNIT = 1000


@dataclass(frozen=True)
class ControllerPlan:
    """The parts that a controller is started with, all of them checked."""

    site: Site
    inventory: Inventory
    settings: SiteSettings
    policy: PolicyText
    shadow: bool
    access: Access
    playbooks: tuple[CatalogFile, ...]
    notes: tuple[str, ...]
    admission: PolicyText | None = None
    given: tuple[str | None, str | None] = (None, None)
    quota: PolicyText | None = None
    preemption: PolicyText | None = None


def plan(site: Site, *, shadow: bool, preset: str | None = None, policy: str | None = None) -> ControllerPlan:
    """Read and check everything before anything is touched; ConfigError names file, key and what would be right."""
    inventory = site.inventory()
    settings = site.settings(preset=preset, policy=policy)
    access = access_of(settings.access, site.settings_file)
    if settings.web is not None:
        settings.web.check(site.settings_file)
    notes = (site.settings_line(preset=preset), *inventory.notes, *own_code(site, settings), *open_to_others(site))
    books = site_playbooks(settings.playbooks, site.root, site.settings_file)
    text = read_policy(settings.policy, settings.core, file=str(site.settings_file))
    admission = None
    if settings.admission is not None:
        admission = read_admission(settings.admission, settings.core, file=str(site.settings_file))
    quota = None if settings.quota_policy is None else read_quota(settings.quota_policy)
    preempt = None if settings.preemption is None else read_preemption(settings.preemption)
    given = (preset, policy)
    return ControllerPlan(
        site, inventory, settings, text, shadow, access, books, notes, admission, given, quota, preempt
    )


def first_event(plan: ControllerPlan, identity: ControllerIdentity, at_us: int) -> Started:
    """The event with which a controller starts: its identity, the inventory, settings and policy."""
    return Started(
        at_us=at_us,
        version=__version__,
        pool=identity.pool,
        epoch=identity.epoch,
        controller=identity.controller,
        settings=plan.settings.core,
        nodes=tuple(map(_node, plan.inventory.nodes)),
        policy=plan.policy,
        shadow=plan.shadow,
        admission=plan.admission,
        preemption=plan.preemption,
        first_generation=at_us // SECOND_US,
    )


def _node(node: InventoryNode) -> Node:
    return Node(
        id=NodeId(node.name),
        site=node.site,
        capacity_milli=round(node.capacity * _CAPACITY_UNIT),
        may_core=node.may_core,
        details=node.plain(),
    )


def shown(news: Reloaded) -> str:
    """The result of reading the files again, in a line."""
    changed = "; ".join(news.changed) or "nothing that counts at once has changed"
    waits = f". After a restart: {', '.join(news.restart)}" if news.restart else ""
    return f"settings read again: {changed}{waits}"


def _nodes(view: State, listed: Iterable[InventoryNode]) -> tuple[tuple[Node, ...], list[str], list[str]]:
    """The nodes of an inventory as they count now, how they differ from those of the pool, and who waits for a restart.

    A node that an MR-cluster holds is reached as it was when it joined, until the next start.
    """
    nodes, changed, waits = {}, list[str](), list[str]()
    for given in map(_node, listed):
        old = view.nodes.get(given.id)
        kept = old is not None and old.life in HELD and old.node != given
        nodes[given.id] = old.node if kept and old is not None else given
        waits += [f"inventory.toml ({given.id})"] * kept
        if old is None or old.unlisted:
            changed.append(f"inventory.toml: {given.id} is in the pool")
        elif old.node != nodes[given.id]:
            changed.append(f"inventory.toml: other facts of {given.id}")
    gone = [name for name, old in view.nodes.items() if name not in nodes and not old.unlisted]
    changed += [f"inventory.toml: {name} leaves the pool" for name in sorted(gone)]
    return tuple(nodes.values()), changed, waits


def known_nodes(listed: Sequence[InventoryNode], view: State) -> list[InventoryNode]:
    """The ``listed`` nodes of an inventory, and those that it has forgotten while something of the pool is on them.

    One whose machine is listed under another name is not among these: what is asked of it would be the other's answer.
    """
    taken = {address for node in listed for address in _addresses(node)}
    return [*listed, *(node for node in _forgotten(listed, view) if taken.isdisjoint(_addresses(node)))]


def refuse_other_names(new: ControllerPlan, view: State) -> None:
    """ConfigError when MR-clusters hold nodes, and the inventory has another name for the pool or for one of these.

    Nodes refuse a controller of another pool. Masters know nodes by their addresses: of two names for one they would
    say what is true of neither. ``refuse_other_places`` follows, as far as it needs no node.
    """
    file, listed = str(new.site.inventory_file), new.inventory.nodes
    held = any(state.owner is not None for state in view.nodes.values())
    if held and view.rules is not None and view.rules.pool != new.inventory.pool:
        raise ConfigError(
            f"is {new.inventory.pool!r}, but the ledger in {new.site.state_dir} is that of {view.rules.pool!r}",
            file=file,
            key="pool",
            hint=f'Write pool = "{view.rules.pool}"; another pool needs a site folder of its own (`fawkes init`)',
        )
    names = {address: node.name for node in listed for address in _addresses(node)}
    there = {node.name for node in listed}
    for old in _forgotten((), view):
        state, is_listed = view.nodes[NodeId(old.name)], old.name in there
        name = next((taken for address in _addresses(old) if (taken := names.get(address, old.name)) != old.name), "")
        if name and (is_listed or state.owner is not None):
            hint = (
                f"Keep the name {old.name} until the node has left: fawkes drain {old.name}. Then rename it, and "
                'let the lease of the old name be forgotten: the page `operations`, "A node that is refused"'
            )
            if is_listed:
                hint = f"Keep the addresses of both until {old.name} is free: fawkes drain {old.name}"
            holder = f" with {state.owner}" if state.owner else ""
            raise ConfigError(
                f"has the address of {old.name} ({old.address}), which is {state.life}{holder}",
                file=file,
                key=name,
                hint=hint,
            )
    refuse_other_places(new, view, None)


def refuse_other_places(new: ControllerPlan, view: State, leases: Iterable[LeaseSeen] | None) -> None:
    """ConfigError when the inventory has another place for a node that is held: its data would be left where it is.

    ``leases`` are those that the nodes of the inventory have. None: they are not known yet, and ways are not judged.
    """
    seen = None if leases is None else {lease.node: lease for lease in leases}
    for node in map(_node, new.inventory.nodes):
        if (held := view.nodes.get(node.id)) is None:
            continue
        same = seen is None or is_there(held, seen.get(node.id))
        for key in other_place(held, node, same_machine=same):
            holder = held.owner or "an MR-cluster that is no more"
            was, now = held.node.details[key], node.details[key]
            where = "" if same else ", and no lease there says that this is the same machine"
            hint = f"Write {key} = {dumps(was)} into [node.{node.id}] until the node is free (`fawkes drain {node.id}`)"
            if not same:
                hint += (
                    ". If its machine is reached in another way now, let it answer there, then start again; a new "
                    "machine in its place needs a new name"
                )
            raise ConfigError(
                f"is {now!r}, but {holder} holds the node with {was!r}{where}",
                file=str(new.site.inventory_file),
                key=f"{node.id}.{key}",
                hint=hint,
            )


def _forgotten(listed: Iterable[InventoryNode], view: State) -> list[InventoryNode]:
    names = {node.name for node in listed}
    return [
        inventory_node(state.node.details)
        for name, state in view.nodes.items()
        if name not in names and state.life in HELD and state.node.details
    ]


def _addresses(node: InventoryNode) -> tuple[str, tuple[str, int]]:
    return node.data_address.lower(), (node.address.lower(), node.port)


def reread_plan(started: ControllerPlan, engine: Engine) -> Reloaded:
    """Read all files again, as at a start, for a controller that works; ConfigError names file, key and value.

    The event with which they count, still without its time and who asked for it. Nothing is changed by this.
    """
    preset, policy = started.given
    new = plan(started.site, shadow=started.shadow, preset=preset, policy=policy)
    rules = engine.view.rules
    now = started.settings.core if rules is None else rules.settings
    reloaded = reread(now, started.settings, new.settings)
    texts = [*reloaded.changed]
    was = engine.policies
    kinds = ("policy", "admission", "preemption")
    for kind, old, text in zip(kinds, was, (new.policy, new.admission, new.preemption), strict=True):
        if old is not None and text is not None and (old.name, old.sha256) != (text.name, text.sha256):
            texts += [f"{kind}: the text of {text.name} has changed"] * (old.name == text.name)
    restart = [*reloaded.restart]
    refuse_other_names(new, engine.view)
    nodes, moved, waiting = _nodes(engine.view, new.inventory.nodes)
    texts += moved
    restart += waiting
    known = "inventory.toml (ssh.known_hosts)"
    restart += [known] * (new.inventory.known_hosts != started.inventory.known_hosts)
    restart += ["playbooks/"] * (new.playbooks != started.playbooks and "playbooks" not in restart)
    return Reloaded(
        at_us=0,
        by="",
        ask="",
        settings=reloaded.settings,
        policy=new.policy,
        admission=new.admission,
        preemption=new.preemption,
        nodes=nodes if moved else None,
        changed=tuple(texts),
        restart=tuple(restart),
    )


# --- Policies of a site, loaded and tried once as the controller will ask them: those of a user in a worker


_PAGE = "The page `policies` says what a policy must answer"


def read_policy(policy_file: CatalogFile, settings: Settings, *, file: str, bounds: WorkerLimits = USUAL) -> PolicyText:
    """The weighting policy of a file; ``file`` has its parameters.

    ConfigError when it cannot be loaded, or answers nothing of use.
    """
    text, _ = _read(policy_file, lambda text: probe(loader(bounds)(text, settings), text.origin), file)
    return text


def read_admission(
    policy_file: CatalogFile, settings: Settings, *, file: str, bounds: WorkerLimits = USUAL
) -> PolicyText:
    """The admission policy of a file; ``file`` has its parameters.

    ConfigError for one that cannot be loaded, and for one that must know the work of jobs: in a live pool nobody does.
    """
    load = admission_loader(bounds)
    text, loaded = _read(policy_file, lambda text: load(text, settings.admission_parameters), file)
    if loaded.needs_work:
        raise ConfigError(
            f"{text.name} must know the work of each job beforehand, which is not known in a live pool",
            file=file,
            key="admission",
            hint="Choose another admission policy (`fawkes policies`); offline runs can use this one",
        )
    return text


def read_quota(policy_file: CatalogFile) -> PolicyText:
    """The quota policy of a file; ConfigError when it cannot be loaded, or answers nothing of use."""
    return _read(policy_file, load_quota)[0]


def read_preemption(policy_file: CatalogFile) -> PolicyText:
    """The preemption policy of a file; ConfigError when it cannot be loaded, or answers nothing of use."""
    return _read(policy_file, load_preemption)[0]


def _read(policy_file: CatalogFile, load: Callable[[PolicyText], T], file: str = "") -> tuple[PolicyText, T]:
    """The text of a policy, and what ``load`` makes of it; ``file`` has its parameters, if it has any."""
    text = policy_text(policy_file.title, str(policy_file.path), policy_file.text())
    try:
        with parameters_in(file) if file else nullcontext():
            return text, load(text)
    except ConfigError as error:
        raise ConfigError(error.what, file=error.file, key=error.key, hint=error.hint or _PAGE) from None
