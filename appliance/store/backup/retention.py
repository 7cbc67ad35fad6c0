"""Which backups are kept (``7d4w12m``), and what goes with the others.

A pack may hold blocks of backups that are kept and of others. It is written anew without the latter when a quarter of
it is not needed any more, or when it may hold something that has been forgotten since.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

import msgspec
import numpy as np
from numpy.typing import NDArray

from appliance.errors import UsageError
from appliance.lazy_dataclasses import dataclass
from appliance.store.backup import manifest as manifests
from appliance.store.backup.backup_ids import next_id, time_of
from appliance.store.backup.manifest import Manifest, StoredPack
from appliance.store.backup.packs import DIGEST_BYTES, FRAME_BLOCKS, PackWriter
from appliance.store.backup.repository import Repository
from appliance.store.backup.storage import BACKUPS, PACKS
from appliance.timestamps import from_microseconds

MAX_UNUSED_SHARE = 0.25
"""The share of a pack's blocks that no backup needs, above which the pack is written anew."""

_PERIODS: Mapping[str, Callable[[datetime], tuple[int, ...]]] = {
    "d": lambda at: (at.year, at.month, at.day),
    "w": lambda at: at.isocalendar()[:2],
    "m": lambda at: (at.year, at.month),
    "y": lambda at: (at.year,),
}
_RULE = re.compile(r"(\d+)([dwmy])")


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """For how many days, weeks, months or years the last backup of each is kept: ("d", 7), ("w", 4)."""

    rules: tuple[tuple[str, int], ...]

    def kept(self, ids: Sequence[str]) -> set[str]:
        """Return the ids that are kept, of ids in the order of their times. The latest one always is. Only days, weeks
        and so on with a backup count."""
        kept = set(ids[-1:])
        for period, count in self.rules:
            last_of: dict[tuple[int, ...], str] = {}
            for id in ids:
                last_of[_PERIODS[period](from_microseconds(time_of(id)).astimezone())] = id
            kept.update(list(last_of.values())[-count:] if count else ())
        return kept


def parse_policy(text: str) -> RetentionPolicy:
    """Return the policy that a text such as "7d4w12m" describes.

    Raises:
        UsageError: It has another form.
    """
    rules = _RULE.findall(text)
    if not rules or "".join(count + period for count, period in rules) != text:
        hint = "Use numbers of days, weeks, months and years to keep a backup of, such as 7d4w12m or 30d5y."
        raise UsageError(f"Invalid retention {text!r}.", hint=hint)
    return RetentionPolicy(tuple((period, int(count)) for count, period in rules))


def remove_others(written: Repository, policy: RetentionPolicy, forgotten_at: int | None) -> list[str]:
    """Remove the backups that a policy does not keep, and what only they need. Returns their ids.

    If this is interrupted, all remaining backups are complete; what is left over is removed the next time. Nothing is
    removed before everything that is kept has been read and written.

    Args:
        written: The repository.
        policy: The policy.
        forgotten_at: When something was last forgotten. Packs from before then lose everything that is not needed.

    Raises:
        StoreCorrupt: A manifest that is kept is damaged, or a pack that has to be written anew. Nothing was removed.
    """
    ids = written.backup_ids()
    kept = policy.kept(ids)
    kept_manifests = _repack(written, [written.manifest(id) for id in ids if id in kept], forgotten_at)
    removed = [id for id in ids if id not in kept]
    for id in removed:
        written.storage.remove(f"{BACKUPS}/{id}")
    needed = {pack.name for manifest in kept_manifests for pack in manifest.packs}
    for name in written.storage.names(PACKS):
        if name not in needed:
            written.storage.remove(f"{PACKS}/{name}")
    return removed


def _repack(written: Repository, kept: list[Manifest], forgotten_at: int | None) -> list[Manifest]:
    """Write packs that are partly unneeded anew, and the manifests with the new places. Returns these."""
    used = _used_blocks(kept)
    stored = {pack.name: pack for manifest in kept for pack in manifest.packs}
    outdated = [
        pack
        for name, pack in stored.items()
        if (unused := pack.blocks - int(used[name].sum()))
        and (unused > MAX_UNUSED_SHARE * pack.blocks or (forgotten_at is not None and _pack_time(name) <= forgotten_at))
    ]
    if not outdated:
        return kept
    new_packs: list[StoredPack] = []
    # Later than the backups, and than what was forgotten: these packs hold only what is needed.
    id = next_id(max([*map(_pack_time, stored), time_of(kept[-1].id)]))[0]

    def store_pack(data: bytes, blocks: int) -> None:
        new_packs.append(written.write_pack(f"{id}-{len(new_packs)}", data, blocks))

    writer = PackWriter(store_pack, first_pack=0)
    moved: dict[str, NDArray[np.int64]] = {}
    for pack in outdated:
        moved[pack.name] = np.full((pack.blocks, 2), -1, np.int64)
        content = written.pack(pack)
        for frame in range(len(content.frames)):
            if used[pack.name][frame * FRAME_BLOCKS : (frame + 1) * FRAME_BLOCKS].any():
                for number, block in content.frame_blocks(frame):
                    if used[pack.name][number]:
                        at = number * DIGEST_BYTES
                        moved[pack.name][number] = writer.add(block, content.digests[at : at + DIGEST_BYTES])
    writer.finish()
    rewritten = [_moved(manifest, moved, new_packs) for manifest in kept]
    for manifest in rewritten:
        written.write_manifest(manifest)
    return rewritten


def _pack_time(name: str) -> int:
    return time_of(name.partition("-")[0])


def _used_blocks(kept: Iterable[Manifest]) -> dict[str, NDArray[np.bool_]]:
    """Which blocks of each pack some manifest needs."""
    used: dict[str, NDArray[np.bool_]] = {}
    for manifest in kept:
        for pack in manifest.packs:
            used.setdefault(pack.name, np.zeros(pack.blocks, np.bool_))
        for file in manifest.files:
            for number, first, count in file.extents:
                used[manifest.packs[number].name][first : first + count] = True
    return used


def _moved(manifest: Manifest, moved: Mapping[str, NDArray[np.int64]], new_packs: Sequence[StoredPack]) -> Manifest:
    """The manifest with the new places of its blocks."""
    all_packs = [*manifest.packs, *new_packs]
    files: dict[str, tuple[int, NDArray[np.int64]]] = {}
    for file in manifest.files:
        places = manifests.places(file.extents)
        for number, pack in enumerate(manifest.packs):
            if pack.name in moved:
                inside = places[:, 0] == number
                places[inside] = moved[pack.name][places[inside, 1]] + (len(manifest.packs), 0)
        files[file.path] = (file.bytes, places)
    packs, stored_files = manifests.with_used_packs(all_packs, files)
    return msgspec.structs.replace(manifest, packs=packs, files=stored_files)
