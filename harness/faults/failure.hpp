// What a fault that ended a training leaves in its folder: failure.json, the logs, and the text of
// the screen.
#pragma once

#include <filesystem>
#include <string>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "harness/faults/fault_settings.hpp"
#include "harness/faults/rank_logs.hpp"

namespace nb {

inline constexpr const char* kFailureFile = "failure.json";
inline constexpr const char* kFailureText = "failure.txt";
inline constexpr const char* kFaultLogs = "logs";

double card_hours_lost(const FailureStory& story);
Json failure_json(const FailureStory& story);
// label: "train-base-ascend_910b3-s1". host_s: real seconds that it took; not in the files' JSON.
std::string failure_text(const FailureStory& story, const std::string& label, double host_s,
                         const std::filesystem::path& folder);
Result<void> write_failure(const FailureStory& story, const std::string& label, double host_s,
                           const std::filesystem::path& folder);

// Why it did not come so; empty: it did. failure: of failure.json; null: the run ended well.
std::string unexpected(const ExpectedFailure& expected, const Json& failure);

}  // namespace nb
