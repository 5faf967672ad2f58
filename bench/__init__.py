"""Measurements: never asserted on, always beside the direct figure of the same run."""
