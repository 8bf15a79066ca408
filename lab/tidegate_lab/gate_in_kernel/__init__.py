"""The gate, as the unchanged program, in a Linux kernel in virtual time.

Forwarding takes no time there, so what is late is late by the gate's own doing, and its bounds hold
for every packet or not at all.
"""
