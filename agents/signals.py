"""What higher layers may want to know about runs."""

from django.dispatch import Signal

# Sent after the commit that ended a run, with ``run_id``.
run_finished = Signal()
