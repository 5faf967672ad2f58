"""One way to find every plug-in: a folder of modules plus an attribute.

A plug-in of the portal is one new file in the folder; a third party's is an entry point
of the group ``hermes.<kind>``. A module that fails to import is reported, not fatal.
"""

from __future__ import annotations

import importlib
import logging
import pkgutil
import threading
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Generic, TypeVar

T = TypeVar("T")
log = logging.getLogger(__name__)


class Registry(Generic[T]):
    """Plug-ins of one kind by name, loaded on first use.

    ``package`` is the folder, ``attribute`` the name each module defines: either one
    plug-in (with a ``name``) or a list of them.
    """

    def __init__(self, *, kind: str, package: str, attribute: str) -> None:
        self.kind, self.package, self.attribute = kind, package, attribute
        self.broken: dict[str, str] = {}
        self._items: dict[str, T] | None = None
        self._lock = threading.RLock()

    def all(self) -> dict[str, T]:
        with self._lock:
            if self._items is None:
                self._items = {}
                for source, found in self._load():
                    for item in found if isinstance(found, list) else [found]:
                        self._add(item, source)
            return self._items

    def get(self, name: str) -> T | None:
        return self.all().get(name)

    def register(self, item: T) -> None:
        """Add one at run time; a taken name is refused, so that nothing shadows a built-in."""
        self.all()
        if not self._add(item, "register"):
            raise ValueError(f"A {self.kind} named {getattr(item, 'name', '?')!r} exists already.")

    def _add(self, item: T, source: str) -> bool:
        assert self._items is not None
        name = str(getattr(item, "name", ""))
        if not name or name in self._items:
            self.broken[source] = f"the name {name!r} is empty or taken"
            log.error("plugin_refused kind=%s source=%s name=%r", self.kind, source, name)
            return False
        self._items[name] = item
        return True

    def _load(self) -> Iterator[tuple[str, T | list[T]]]:
        package = importlib.import_module(self.package)
        for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name):
            source = f"{self.package}.{module.name}"
            try:
                loaded = importlib.import_module(source)
            except Exception as error:  # a broken plug-in must not take the others down
                self.broken[source] = repr(error)
                log.exception("plugin_broken kind=%s source=%s", self.kind, source)
                continue
            if hasattr(loaded, self.attribute):
                yield source, getattr(loaded, self.attribute)
        for entry in entry_points(group=f"hermes.{self.kind}s"):
            try:
                yield entry.value, entry.load()
            except Exception as error:
                self.broken[entry.value] = repr(error)
                log.exception("plugin_broken kind=%s source=%s", self.kind, entry.value)
