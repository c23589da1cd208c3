"""Every fault that is run and gated, by the group that runs it (run.sh)."""

from fault_metric import METRIC
from fault_port import PORT
from fault_suites import ESCAPED, ROUNDING
from fault_training import SEEDS, TRAINING

FAULTS = METRIC + TRAINING + SEEDS + PORT + ESCAPED + ROUNDING
