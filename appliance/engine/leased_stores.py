"""The derived stores of one generation, opened when they are first needed, and kept open while somebody reads them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from appliance.store.generations import DerivedStores


class LeasedStores:
    """Open stores, and the leases on them. Safe to use from several threads."""

    def __init__(self, open_stores: Callable[[], DerivedStores | None]) -> None:
        """``open_stores`` opens them; None if there are none yet."""
        self._open_stores = open_stores
        self._lock = threading.RLock()
        self._leases_changed = threading.Condition()
        self._leases = 0
        self._stores: DerivedStores | None = None

    @property
    def is_open(self) -> bool:
        return self._stores is not None

    def open(self) -> DerivedStores | None:
        """The stores, opened if necessary."""
        with self._lock:
            if self._stores is None:
                self._stores = self._open_stores()
            return self._stores

    @contextmanager
    def lease(self) -> Iterator[DerivedStores | None]:
        """The open stores, which stay open within the context: ``closed`` waits for it. So nothing that takes this
        class's lock may be called within."""
        with self._lock:
            stores = self.open()
            with self._leases_changed:
                self._leases += 1
        try:
            yield stores
        finally:
            with self._leases_changed:
                self._leases -= 1
                self._leases_changed.notify_all()

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Close the stores once all leases have ended, and keep them closed within the context."""
        with self._lock:
            with self._leases_changed:
                self._leases_changed.wait_for(lambda: not self._leases)
            if self._stores is not None:
                self._stores.close()
                self._stores = None
            yield

    def update(self, change: Callable[[DerivedStores], DerivedStores]) -> None:
        """Exchange the open stores for what ``change`` makes of them; nothing if they are closed."""
        with self._lock:
            if self._stores is not None:
                self._stores = change(self._stores)

    def replace(self, stores: DerivedStores) -> None:
        """Take other open stores; called where they are ``closed``."""
        self._stores = stores
