"""Writing of the agents layer."""

from agents.services.cancel import run_cancel, runs_cancel_of_user
from agents.services.lease import run_begin, run_hand_back, runs_renew
from agents.services.run import message_send
from agents.services.steer import run_steer
from agents.services.sweep import sweep
from agents.services.turn import turn_failed, turn_save

__all__ = [
    "message_send",
    "run_begin",
    "run_cancel",
    "run_hand_back",
    "run_steer",
    "runs_cancel_of_user",
    "runs_renew",
    "sweep",
    "turn_failed",
    "turn_save",
]
