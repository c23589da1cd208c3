// Writes small run folders through the store, as a runner would, for tests of comparison, gate and
// report.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "results/store/record.hpp"
#include "results/store/store.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::test {

class FakeRun {
 public:
  explicit FakeRun(std::string suite = "smoke");
  std::filesystem::path suite_folder() const { return dir_ / suite_; }
  std::filesystem::path folder_of(const Record& record) const;
  void add(const Record& record);  // artifacts must lie in folder_of(record) already
  RunRecords read() const;

  // A training node with steps.csv; loss falls from ln 256 with 3 % of noise, `shift` times the
  // step is added to every loss. `change` may edit the record before it is written.
  Record add_training(const std::string& device, std::int64_t seed, double val_bpb,
                      double shift = 0, const std::function<void(Record&)>& change = {});
  // Answers of one task: right(i) for item i of n.
  struct Task {
    std::string name;
    int n = 0;
    std::function<bool(int)> right;
    // Log-probabilities of two choices, the second is right; empty: −1.5 and −1 or −2.
    std::function<std::vector<float>(int)> log_probs = {};
    std::function<std::string(int)> text = {};  // answered by texts instead
  };
  // An evaluation; `change` may edit the record before it is written.
  Record add_evaluation(const std::string& device, std::int64_t seed, const std::string& weights,
                        const std::vector<Task>& tasks,
                        const std::function<void(Record&)>& change = {});
  Record add_prediction(const std::string& device, double step_time_ns, double peak_memory_bytes);

 private:
  TempDir dir_;
  std::string suite_;
};

// Items that a Task has right: every second one; all.
inline bool even(int i) { return i % 2 == 0; }
inline bool always(int) { return true; }

// A metric with a value.
Metric metric_of(const std::string& name, double value, const std::string& unit,
                 Direction direction, Clock clock = Clock::kNone, std::int64_t n = 0);

}  // namespace nb::test
