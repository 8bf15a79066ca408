"""What the gate does on a Linux link, measured beside the kernel's own queueing disciplines.

Everything happens in network namespaces that an experiment makes and removes itself. Python only starts,
stops and reads: traffic is sent and received by processes of their own, and when a packet came or left is
said by the kernel, at both ends of what is measured.
"""
