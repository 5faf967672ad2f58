"""Model providers: one file per wire format, found by the registry."""
