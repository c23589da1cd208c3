#include "harness/cli/open_index.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/locations.hpp"
#include "harness/base/say.hpp"
#include "harness/base/table.hpp"

namespace nb::cli {

Result<RunIndex> open_index(const std::string& given, RunIndex::Mode mode) {
  auto index = RunIndex::open(results_folder(given), mode);
  if (!index) return index;
  for (const std::string& note : index->notes()) say_on_stderr(fmt::format("npubench: {}\n", note));
  return index;
}

void say_damage(const RunIndex& index) {
  const auto records = index.records();
  const auto damaged =
      std::count_if(records.begin(), records.end(),
                    [](const IndexedRecord& record) { return !record.damage.empty(); });
  if (damaged > 0)
    say_on_stderr(fmt::format("npubench: {} cannot be read (npubench runs list says why)\n",
                              count_text(damaged, "record")));
}

}  // namespace nb::cli
