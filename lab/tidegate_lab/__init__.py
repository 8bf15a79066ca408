"""The gate on a Linux link, measured and compared with the kernel's own queueing disciplines.

Each experiment runs in network namespaces that it creates and removes itself. Python only starts,
stops and reads: separate processes send and receive traffic, and the kernel records when a packet
came or left, at both ends of the measured path.
"""
