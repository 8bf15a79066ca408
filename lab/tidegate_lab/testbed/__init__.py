"""A scenario's network in a Linux kernel: hosts as namespaces, links as virtual Ethernet, the kernel's
queueing disciplines at its ports, the kernel's TCP at the ends of its connections."""
