"""Rooms are made when somebody first goes there, once, whichever thread that is."""

from __future__ import annotations

import threading

from appliance.rooms import Room


class House:
    made = 0

    @Room
    def attic(self) -> list[int]:
        """Under the roof."""
        type(self).made += 1
        return [self.made]


def test_a_room_is_made_once_for_each_whoever_comes_first() -> None:
    house, start, seen = House(), threading.Barrier(8), []

    def go() -> None:
        start.wait()
        seen.append(house.attic)

    threads = [threading.Thread(target=go) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert House.made == 1 and all(one is seen[0] for one in seen)
    assert House().attic is not house.attic


def test_nobody_is_in_a_room_before_it_is_made() -> None:
    house = House()
    assert House.attic.made(house) is None
    attic = house.attic
    assert attic is house.attic is House.attic.made(house)
    assert House.attic.__doc__ == "Under the roof."
