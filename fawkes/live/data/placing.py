"""A kept copy into the folders of the NameNode and the ResourceManager of another node, whole or not at all."""

from __future__ import annotations

from fawkes.base.errors import RefusedError
from fawkes.core.values.model import NodeId
from fawkes.live.base import limits
from fawkes.live.edits import edit_log
from fawkes.live.edits.kept_copy import KeepError, KeptCopy, archive_of, md5_of
from fawkes.live.nodes.fleet import Fleet
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import kept as book
from fawkes.playbook import Lease


class Placing:
    """Puts copies on nodes."""

    def __init__(self, ground: Ground, fleet: Fleet) -> None:
        self._ground = ground
        self._fleet = fleet

    def place(self, copy: KeptCopy, node: NodeId, lease: Lease) -> None:
        """Places files as `Keeper.place` does. Nobody may write to the copy meanwhile."""
        facts = self._ground.run(node, book.before_placing(lease.folders), "looking at the folder of the NameNode")
        if facts.get("placed") == copy.mark():
            return
        pools = set(facts.all("pool"))
        if pools and copy.origin.block_pool not in pools:
            raise RefusedError(
                f"its DataNode has blocks of {', '.join(sorted(pools))}, and the copy is of {copy.origin.block_pool}",
                where=node,
                hint="The copy belongs to another MR-cluster. Nothing was written to this node",
            )
        try:
            self._put(copy, node, lease)
        except OSError as error:
            raise KeepError(f"the copy cannot be read ({error.strerror or error})", where=str(copy.folder)) from error

    def _put(self, copy: KeptCopy, node: NodeId, lease: Lease) -> None:
        names = copy.names()
        segments = edit_log.segments(names)
        image = edit_log.image_name(copy.image)
        checksum = (copy.files / f"{image}.md5").read_text()
        # The image was compared with its checksum file when it came, and may be large.
        sums = {each.name: md5_of(copy.files / each.name) for each in segments} | {image: checksum.partition(" ")[0]}
        texts = {
            "VERSION": (copy.files / "VERSION").read_text(),
            # The one of the masters may speak of a segment that was begun after the copy.
            "seen_txid": f"{segments[-1].first if segments else copy.image}\n",
            f"{image}.md5": checksum,
        }
        state = archive_of(copy.state)
        facts = self._ground.run(
            node, book.stage(lease, texts, sums, state), "preparing the copy", within_s=limits.PLACE_S
        )
        own = set(facts.all("own"))
        for name in names:
            if name not in own:
                with (copy.files / name).open("rb") as file:
                    path = lease.folders.nn.with_name(f"{lease.folders.nn.name}.placing") / "current" / name
                    self._fleet.put(node, file, path, mode=0o600, lease=lease, deadline_s=limits.IMAGE_S)
        sent = {name: md5 for name, md5 in sums.items() if name not in own}
        self._ground.run(node, book.place(lease, sent, copy.mark()), "placing the copy", within_s=limits.PLACE_S)
