// BASE of seconds on a mesh of cards, and what it left behind.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/hash.hpp"
#include "harness/base/progress.hpp"
#include "model/train/data_ranks.hpp"
#include "model/train/mesh_step.hpp"
#include "model/train/safetensors.hpp"
#include "tests/model/train/tiny_run.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::test {

// The largest relative difference of a loss, of bits per byte or of a norm.
inline double worst(const TrainResult& a, const TrainResult& b) {
  double largest = a.steps.size() == b.steps.size() ? 0 : 1;
  const auto add = [&](const std::optional<double>& x, const std::optional<double>& y) {
    if (x || y) largest = std::max(largest, std::abs(x.value_or(0) / y.value_or(1) - 1));
  };
  for (std::size_t i = 0; i < std::min(a.steps.size(), b.steps.size()); ++i) {
    add(a.steps[i].train_loss, b.steps[i].train_loss);
    add(a.steps[i].grad_norm, b.steps[i].grad_norm);
    add(a.steps[i].val_bpb, b.steps[i].val_bpb);
  }
  return largest;
}

class MeshTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { set_progress_mode(ProgressMode::kQuiet); }
  MeshTest() {
    settings_.device_batch_size = 1;  // four micro-batches
    settings_.sample_every = 0;
    settings_.grad_clip = 0;  // a norm of shards is summed differently
  }

  struct Ran {
    TrainResult result;
    std::string tensors;                               // weights and state of the optimizers
    std::map<std::string, std::vector<float>> values;  // the same by name
    DeviceCounters counters;
    BytesByUse allocated{};  // at the end, of the first rank
    BytesByUse peak{};
  };

  Result<Ran> run(const std::optional<MeshSettings>& mesh, const std::filesystem::path& folder,
                  const TrainHooks& hooks = {}) {
    NB_TRY(TokenLoader train_loader, TokenLoader::create(data_.train));
    NB_TRY(TokenLoader validation_loader, TokenLoader::create(data_.validation));
    NB_TRY(DeviceProfile profile, load_profile("ascend_910b3"));
    profile.numerics.reduction_order = order_;
    if (numerics_ != "ascend_910b3") {
      NB_TRY(const DeviceProfile policy, load_profile(numerics_));
      NB_TRY(profile, with_numerics(std::move(profile), policy));
      profile.numerics.reduction_order = order_;
    }
    Device device(std::move(profile), ExecutionMode::kExecute,
                  {.ranks = static_cast<int>(mesh ? mesh->ranks() : 1)});
    Ran ran;
    TrainHooks listening = hooks;
    listening.on_checkpoint = [&](std::int64_t step) {
      ran.allocated = device.allocator().allocated_by_use();
      if (hooks.on_checkpoint) hooks.on_checkpoint(step);
    };
    NB_TRY(ran.result, train(settings_, device, {train_loader, validation_loader, data_.tokenizer},
                             folder, listening, defects_, mesh));
    ran.counters = device.counters();
    ran.peak = device.allocator().peak_by_use();
    NB_TRY(const SafetensorsFile file, SafetensorsFile::open(ran.result.checkpoint));
    for (const auto& [name, entry] : file.entries())
      if (!name.starts_with("progress.")) {
        ran.tensors += name + std::string(reinterpret_cast<const char*>(entry.bytes.data()),
                                          entry.bytes.size());
        NB_TRY(ran.values[name], file.read_floats(name, entry.shape));
      }
    return ran;
  }
  Ran ran(const std::optional<MeshSettings>& mesh) {
    const TempDir folder;
    auto one = run(mesh, folder.path());
    EXPECT_TRUE(one) << (one ? "" : one.error().message);
    return one ? std::move(*one) : Ran();
  }
  std::string refusal(const MeshSettings& mesh) {
    const TempDir folder;
    const auto refused = run(mesh, folder.path());
    EXPECT_FALSE(refused);
    return refused ? "" : refused.error().message;
  }
  // Killed behind each of these steps and resumed, all is that of an undisturbed run.
  void expect_same_bytes_after_kills(const MeshSettings& mesh,
                                     const std::vector<std::int64_t>& steps) {
    const TempDir whole;
    const auto undisturbed = run(mesh, whole.path());
    ASSERT_TRUE(undisturbed) << undisturbed.error().message;
    for (const std::int64_t step : steps) {
      SCOPED_TRACE(step);
      const TempDir folder;
      TrainHooks hooks;
      hooks.on_step = [&](const StepRow& row) {
        if (row.step == step) throw Killed{};
      };
      EXPECT_THROW((void)run(mesh, folder.path(), hooks), Killed);
      const auto resumed = run(mesh, folder.path());
      ASSERT_TRUE(resumed) << resumed.error().message;
      EXPECT_EQ(*sha256_file(resumed->result.checkpoint),
                *sha256_file(undisturbed->result.checkpoint));
      EXPECT_EQ(resumed->result.train_time_ns, undisturbed->result.train_time_ns);
      EXPECT_EQ(resumed->result.peak_allocated_bytes, undisturbed->result.peak_allocated_bytes);
      EXPECT_EQ(resumed->result.peaks_of_ranks, undisturbed->result.peaks_of_ranks);
      EXPECT_EQ(resumed->result.bubble, undisturbed->result.bubble);
    }
  }
  // The same step without values.
  MeshStep dry_step(const Ran& of, const MeshSettings& mesh) const {
    DeviceProfile profile = load_profile("ascend_910b3").value();
    profile.numerics.reduction_order = order_;
    return run_mesh_step({.config = of.result.config,
                          .mesh = mesh,
                          .device_batch_size = settings_.device_batch_size,
                          .accumulation_steps = settings_.total_batch_tokens /
                                                (settings_.device_batch_size *
                                                 settings_.sequence_len * mesh.data_ranks()),
                          .grad_clip = settings_.grad_clip,
                          .recompute = settings_.recompute.value_or(false)},
                         profile);
  }
  // ||a - b|| / ||b|| (Frobenius) of each tensor to that of its name. Of weights the largest
  // differences are left out, one in `one_of` elements; of optimizers' state, which are sums of
  // gradients, none. 0: none.
  static std::map<std::string, double> distances(const Ran& a, const Ran& b, std::size_t one_of) {
    std::map<std::string, double> all;
    for (const auto& [name, of_b] : b.values) {
      const auto found = a.values.find(name);
      if (found == a.values.end() || found->second.size() != of_b.size()) {
        all[name] = 1;
        continue;
      }
      std::vector<double> squares;
      double norm = 0, distance = 0;
      for (std::size_t i = 0; i < of_b.size(); ++i) {
        squares.push_back(std::pow(static_cast<double>(found->second[i]) - of_b[i], 2));
        norm += std::pow(static_cast<double>(of_b[i]), 2);
      }
      std::ranges::sort(squares);
      const bool leaves_out = one_of > 0 && !name.starts_with("optimizer.");
      squares.resize(squares.size() - (leaves_out ? squares.size() / one_of : 0));
      for (const double square : squares) distance += square;
      all[name] = norm > 0 ? std::sqrt(distance / norm) : distance;
    }
    return all;
  }
  // Loss, gradient norm, tokens and what was read; not times.
  static std::vector<std::vector<double>> learned(const TrainResult& result) {
    std::vector<std::vector<double>> rows;
    for (const StepRow& row : result.steps)
      rows.push_back({row.train_loss.value_or(0), row.tokens.value_or(0),
                      row.batch_hash.value_or(0), row.val_bpb.value_or(0)});
    return rows;
  }

  const TinyData data_ = tiny_data();
  TrainSettings settings_ = tiny_settings();
  ReductionOrder order_ = ReductionOrder::kMesh;
  std::string numerics_ = "ascend_910b3";
  PortDefects defects_;
};

}  // namespace nb::test
