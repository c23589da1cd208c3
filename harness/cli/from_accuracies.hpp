// `npubench eval --from-accuracies TABLE`: CORE and ChatCORE of accuracies that somebody measured.
#pragma once

#include <string>

namespace nb::cli {

// Prints every composite of every column; returns the exit code: 64 where the table can't be read
// or has the tasks of none.
int eval_from_accuracies(const std::string& table, bool json);

}  // namespace nb::cli
