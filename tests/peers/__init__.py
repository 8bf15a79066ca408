"""Schedulers of other simulators and of Linux, held to the properties of the conformance matrix."""
