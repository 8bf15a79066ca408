"""A scenario's network in a Linux kernel.

Hosts are namespaces, links are virtual Ethernet, ports have the kernel's queueing disciplines, and
connections are the kernel's TCP.
"""
