// The index of a results folder, for verbs that read it.
#pragma once

#include <cstdint>
#include <string>

#include "results/store/index.hpp"

namespace nb::cli {

inline constexpr std::int64_t kNewest = 50;  // runs in a table without --limit

// Of `given`, or where runs are kept. What the index has to say about itself goes to stderr.
Result<RunIndex> open_index(const std::string& given,
                            RunIndex::Mode mode = RunIndex::Mode::kUpdate);
// "3 records cannot be read (npubench runs list says why)" to stderr, if any.
void say_damage(const RunIndex& index);

}  // namespace nb::cli
