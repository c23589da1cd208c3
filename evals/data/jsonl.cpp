#include "evals/data/jsonl.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "model/data/tasks/rows.hpp"

namespace nb {

Result<void> for_each_json_line(
    std::string_view text, const std::string& where,
    const std::function<Result<void>(const Json& row, const std::string& line)>& use) {
  const auto use_object = [&use](const Json& row, const std::string& line) -> Result<void> {
    if (!row.is_object())
      return bad_input(fmt::format("{}: expected an object, got {}", line, row.type_name()));
    return use(row, line);
  };
  return for_each_row(text, where, use_object, EmptyFile::kAllowed);
}

}  // namespace nb
