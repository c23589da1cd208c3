// What a source leaves out of its totals and what follows from the rest: numbers of items from
// standard errors, known test sets and parts; groups of tasks from the names of their subjects.
// Looked up or computed, and said in a note; never a guess.
#pragma once

#include <cstdint>
#include <string_view>

#include "results/foreign/foreign.hpp"

namespace nb {

// Items of the full test set of a task, by the name that harnesses give it ("gsm8k",
// "ceval-valid"); 0: not known, or there are several sets of that name.
std::int64_t task_size(std::string_view task);

// Fills reported_n, part_of and rows of known groups (MMLU, CMMLU, C-Eval, BBH, AGIEval) of every
// series that has no items.
void complete_totals(ForeignRun& run);

}  // namespace nb
