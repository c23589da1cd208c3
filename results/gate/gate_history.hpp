// The alert that a task could not tell for the third night running, from the lines of gates.jsonl.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "results/gate/gate.hpp"
#include "results/store/gated_nights.hpp"

namespace nb {

inline constexpr int kNightsToAlert = 3;

// The nights whose lines stand before that of `tonight`; all of them where it has none yet.
std::vector<GatedNight> nights_before(std::vector<GatedNight> nights, const GatedNight& tonight);

// Tonight after the nights before it, of the same suite: one sentence for each check that could not
// tell on kNightsToAlert different nights running, tonight included.
std::vector<Sentence> alerts_of(const std::vector<GatedNight>& before, const GatedNight& tonight);

// After a night: writes its line and puts its alerts into the result. The candidate must be a run
// folder on disk. Errors: a folder that cannot be written, a history of which a line makes no
// sense.
Result<void> remember_night(const std::filesystem::path& home, const RunRecords& baseline,
                            const RunRecords& candidate, GateResult& result,
                            const std::string& name_of_night = "");

}  // namespace nb
