"""Terminal backends: where commands run. One file each, found by the registry."""
