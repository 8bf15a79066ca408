"""A Linux kernel in virtual time: user-mode Linux, built with time travel.

Processor work takes no time there, and the clock jumps to the next event when everything waits. So
an experiment is exact, repeats, and does not depend on the load of the machine.
"""
