// Nights as npubench nightly leaves them: <night>/<suite>/<node>-<8 digits>/record.json, with
// one metric each.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "results/store/index.hpp"
#include "results/store/record.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::test {

class StoredNights {
 public:
  // val_bpb of a training on h100_sxm; change may edit the record before it is written.
  void add(const std::string& run, const std::string& when, double value,
           std::optional<std::int64_t> seed = 1,
           const std::function<void(Record&)>& change = {}) const;
  std::filesystem::path path(const std::string& below) const { return dir_ / below; }
  const std::filesystem::path& folder() const { return dir_.path(); }
  RunIndex index() const;

 private:
  TempDir dir_;
};

}  // namespace nb::test
