// Which tensor of which rank is the first that two trainings do not share: a digest of what every
// rank has of each weight when a step begins, and of its gradients when its passes are done.
// rank_tensors.csv, a row a tensor, in the order of steps, weights before gradients, ranks, the
// model. Equal trainings leave equal bytes, resumed or not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "model/train/disturbance.hpp"

namespace nb {

inline constexpr const char* kRankTensors = "rank_tensors.csv";

class TensorDigests {
 public:
  // Rows of an earlier part of this training are there already; those from its first step on are
  // dropped when it begins.
  explicit TensorDigests(const std::filesystem::path& folder);
  // On the rank's thread. Parts of a step other than kForward and kBackward: nothing.
  void note(StepPart part, std::int64_t step, int rank, TrainedModel& model);
  // Steps before `end`; whole or not at all.
  Result<void> write(std::int64_t end);

 private:
  using Place = std::tuple<std::int64_t, bool, int>;  // step, of gradients, rank
  const std::filesystem::path path_;
  std::mutex mutex_;
  bool has_begun_ = false;
  std::map<Place, std::string> rows_;
};

struct DigestComparison {
  std::string file_a, file_b;
  std::int64_t compared = 0, differing = 0;  // tensors: of a rank, a step and a part
  struct First {
    std::int64_t step = 0, rank = 0;
    std::string part, tensor;  // "weights", "gradients"
  };
  std::optional<First> first;
};
// Rows that both have. bad_input: they have none in common, or a file is none of these.
Result<DigestComparison> compare_digests(const std::filesystem::path& a,
                                         const std::filesystem::path& b);
std::string digest_text(const DigestComparison& comparison);
Json digest_json(const DigestComparison& comparison);

}  // namespace nb
