// Where data is read and results go when the command line does not say.
#pragma once

#include <filesystem>
#include <string>

namespace nb {

// `given` if not empty, else NPUBENCH_DATA, else ~/.cache/npubench/data.
std::filesystem::path data_folder(const std::string& given);
// `given` if not empty, else NPUBENCH_RESULTS, else results/runs.
std::filesystem::path results_folder(const std::string& given);

}  // namespace nb
