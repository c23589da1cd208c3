// The A/A control: the same keys computed twice must give the same bits. Where they do not, no
// difference between two versions means anything that night.
#pragma once

#include "results/gate/gate.hpp"
#include "results/store/store.hpp"

namespace nb {

// One verdict a node: PASS (bit-identical) or ERROR: other bits, other keys, a node that is missing
// on a side, failed or damaged, files that do not match their record. Nothing in common is an ERROR
// too: a control that measures nothing is not green.
GateResult aa_control(const RunRecords& first, const RunRecords& second);

}  // namespace nb
