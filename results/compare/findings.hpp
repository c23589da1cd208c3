// What must be known before any number of a comparison is read: the same weights that were scored
// otherwise, a metric that became another one, a training procedure that changed, bits that changed
// although nothing did. Sentences for the first lines of compare, gate and report.
#pragma once

#include <string>
#include <vector>

#include "results/compare/compare.hpp"

namespace nb {

std::vector<Sentence> findings_of(const Comparison& comparison);

// Names and seeds of nodes in few words: "base.mw on ascend_910b3, seeds 1, 2".
std::string nodes_text(const std::vector<const Record*>& records);

// Of imported pairs: the same questions, asked or answered differently.
std::vector<Sentence> cautions_of(const Comparison& comparison);

}  // namespace nb
