"""Engines: how a run is put to the model. One file each, found by the registry."""
