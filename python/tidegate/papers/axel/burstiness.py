"""The burstiness increase of smooth flows: Tables 9 and 10.

It is given twice: by the exact W at the reserved rate r, and at 1.02 r.
"""
