#include "model/train/tensor_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace nb {
namespace {

constexpr std::size_t kShown = 4;

// "2 tensors are missing (a, b)"; empty: none.
std::string some_of(const std::set<std::string>& from, const std::set<std::string>& without,
                    const char* what) {
  std::vector<std::string> names;
  std::ranges::set_difference(from, without, std::back_inserter(names));
  if (names.empty()) return "";
  const std::size_t count = names.size();
  names.resize(std::min(count, kShown));
  return fmt::format("{} tensor{} {} {} ({}{})", count, count == 1 ? "" : "s",
                     count == 1 ? "is" : "are", what, fmt::join(names, ", "),
                     count > kShown ? ", …" : "");
}

}  // namespace

Result<void> check_tensor_names(const std::set<std::string>& expected,
                                const std::set<std::string>& present, const std::string& where,
                                const std::string& model) {
  const std::string missing = some_of(expected, present, "missing");
  const std::string unexpected = some_of(present, expected, "unexpected");
  if (missing.empty() && unexpected.empty()) return {};
  return bad_input(fmt::format("{}: {}{}{} for {}; do the sizes belong to these weights?", where,
                               missing, missing.empty() || unexpected.empty() ? "" : " and ",
                               unexpected, model));
}

}  // namespace nb
