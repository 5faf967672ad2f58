"""What higher layers may want to know about users."""

from django.dispatch import Signal

# Sent after the commit, with ``user``: sockets, tokens and runs of this user must end.
user_disabled = Signal()
