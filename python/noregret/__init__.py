"""A client of the noregret decision service.

Client makes calls. Local decides in the process by a copy of an experiment's policy, which it
keeps up to date, and sends sums of what the program has observed, kept in an outbox.
"""

from .client import Client, ServiceError
from .local import Local
from .policy import Decision, Policy

__all__ = ["Client", "Decision", "Local", "Policy", "ServiceError"]
