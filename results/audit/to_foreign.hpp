// A table of reported results in the terms of results/import, so that compare, gate and report take
// a report card, a training log or a published table like any other foreign result.
#pragma once

#include "results/audit/table.hpp"
#include "results/foreign/foreign.hpp"

namespace nb {

// One run per column that has numbers: scores as totals without items under the ids of our own
// tasks, measured facts as metrics of the device's clock, everything else that is said as
// provenance.
ForeignResults foreign_of(const ReportedTable& table);

}  // namespace nb
