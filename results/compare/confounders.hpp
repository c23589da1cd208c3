// What differs between two records besides the device. For compare.cpp only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/compare/compare.hpp"

namespace nb {

// Settings, code digests, numerics card, device; of evaluations of other weights also the training
// that their checkpoints tell of; of servers what served_causes.hpp finds. A difference that merely
// repeats the two devices' names is left out.
std::vector<Confounder> confounders_of(const Record& a, const Record& b);
// Settings that cannot change a result (batches of scoring, how often to save, what to evaluate):
// "/settings/evaluation/of_baseline". No confounders, although records print them.
bool changes_no_result(std::string_view field);
// What records from before a setting was printed were made with, as JSON; nothing: unknown.
std::optional<std::string> value_before(std::string_view field);
// What could not be compared: evaluations of other weights that do not say how these were trained.
std::vector<Sentence> unknown_of(const Record& a, const Record& b);
// Of imported records, and of trainings of which one was captured: the settings that both sides
// state, and state alike.
std::vector<std::string> stated_equal_of(const Record& a, const Record& b);
// Joins equal confounders of several pairs: the same field and values, with every place it touches.
void add_confounders(std::vector<Confounder>& all, const std::vector<Confounder>& more);

}  // namespace nb
