"""The box that untrusted commands run in: bubblewrap, seccomp, limits, and the proof of it.

``box`` says what a command sees, ``process`` starts and ends it, ``selftest`` shows that the
walls stand. Nothing here knows Django.
"""
