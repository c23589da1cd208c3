#!/usr/bin/env bash
# Faults that the gate must see, planted in a copy of the sources. README.md beside this file says what there is.
#   bash tests/faults/run.sh list              every fault with what it plants
#   bash tests/faults/run.sh build             does each of them still compile?
#   bash tests/faults/run.sh training          one group of them
#   bash tests/faults/run.sh port --only NAME  one fault
#   bash tests/faults/run.sh healthy           false alarms where nothing is broken
# Options: --seeds N, --devices NAME …, --full (the suite's d2 instead of a d1), --splits N, --work FOLDER,
# --threads N; of suites: --suites FILE …, --table-only (what is there);
# of defects: --suite FILE, --noise RUN … (healthy runs of many seeds)
set -euo pipefail
exec python3 "$(dirname "${BASH_SOURCE[0]}")/drive.py" "$@"
