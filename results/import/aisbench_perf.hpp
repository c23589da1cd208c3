// What AISBench's performance mode measured, as its files and its printed tables have it: cells
// with their unit ("2006.0 ms", "41.6 token/s"), each by stage ("total"; "stable" while the load
// was full).
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/result.hpp"
#include "results/import/builder.hpp"

namespace nb::aisbench {

struct Quantity {
  double value = 0;
  const char* unit = "1";
};
// Nothing of "nan ms" and of an empty cell. Errors begin with `where`.
Result<std::optional<Quantity>> quantity_of(std::string_view cell, const std::string& where);

// The values of one stage by their names in the file.
using Values = std::map<std::string, Quantity>;
using Stages = std::map<std::string, Values>;

// What a load is called: dataset, stage, and how many requests came at once, where `load` says it.
std::string load_of(const std::string& dataset, const std::string& stage, const Stages& load);

// The run of a load; model: empty where nothing names it.
ForeignRun& run_of(const std::filesystem::path& file, const std::string& model,
                   const std::string& dataset, const std::string& stage, const Stages& load,
                   ForeignBuilder& builder);

// A stage of the whole load; where: opens notes.
void add_load(ForeignRun& run, const Values& values, const std::string& where);
// A cell of the table of requests: row "TTFT", column "P99".
void add_request(ForeignRun& run, const std::string& row, const std::string& column,
                 const Quantity& quantity);

}  // namespace nb::aisbench
