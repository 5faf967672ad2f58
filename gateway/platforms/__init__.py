"""Chat platforms: one file each, found by the registry. A platform has a ``name`` and
``async run()``, which keeps its connection until it is cancelled."""
