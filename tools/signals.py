"""What higher layers may want to know about tool calls."""

from django.dispatch import Signal

# Sent inside the transaction that settled a call, with ``run_id``, when no call of the run is
# open any more. The receiver lets exactly one waker continue the run.
calls_settled = Signal()
