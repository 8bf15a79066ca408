"""Schedulers of other simulators, held to the properties of the conformance matrix."""
