#include "harness/cli/compare_tensors.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "harness/base/fs.hpp"
#include "harness/base/say.hpp"
#include "harness/cli/common.hpp"
#include "harness/faults/tensor_digests.hpp"
#include "harness/run/replay_tensors.hpp"

namespace nb::cli {
namespace {

// A's tokens once more, through a model on an emulated device.
Result<std::vector<TensorComparison>> compare_with_model(const std::string& a,
                                                         const TensorOptions& options) {
  NB_TRY(const auto files, tensor_files(a));
  if (files.size() != 1) return bad_input(a + ": holds several files of tensors; give one of them");
  NB_TRY(const OpenedModel opened, open_model(options.model));
  if (opened.decoder == nullptr)
    return bad_input(fmt::format("--model {}: computes no tensors", options.model.model));
  const bool is_kept = !options.keep.empty();
  const fs::path made =
      is_kept ? fs::path(options.keep)
              : fs::temp_directory_path() / fmt::format("npubench-{}.safetensors", ::getpid());
  auto compared = [&]() -> Result<TensorComparison> {
    NB_TRY_VOID(replay_tensors(files[0].second, *opened.decoder, made));
    return compare_tensor_files(files[0].second, made, options.tolerance);
  }();
  std::error_code ignored;
  if (!is_kept) fs::remove(made, ignored);
  NB_TRY(TensorComparison comparison, std::move(compared));
  if (!is_kept) comparison.file_b = options.model.model + " on " + opened.device;
  return std::vector<TensorComparison>{std::move(comparison)};
}

// Trainings of several ranks: their digests, paired by stage and order.
Result<std::vector<DigestComparison>> compare_ranks(const std::string& a, const std::string& b) {
  std::vector<DigestComparison> comparisons;
  NB_TRY(const auto files_a, digest_files(a));
  NB_TRY(auto files_b, digest_files(b));
  for (const auto& [stage, file] : files_a) {
    const auto other = std::ranges::find_if(files_b, [&, &of = stage](const auto& one) {
      return of.empty() || one.first.empty() || one.first == of;
    });
    if (other == files_b.end()) continue;
    NB_TRY(DigestComparison comparison, compare_digests(file, other->second));
    comparisons.push_back(std::move(comparison));
    files_b.erase(other);
  }
  return comparisons;
}

}  // namespace

int compare_tensors(const std::string& a, const std::string& b, const TensorOptions& options,
                    bool json) {
  if (b.empty() == options.model.model.empty())
    return fail(
        {ErrorCode::kBadInput, "compare tensors: give two runs, two files, or one and --model"});
  if (!b.empty()) {
    const auto of_ranks = compare_ranks(a, b);
    if (!of_ranks) return fail(of_ranks.error());
    if (!of_ranks->empty()) {
      Json list = Json::array();
      for (const DigestComparison& one : *of_ranks) {
        list.push_back(digest_json(one));
        if (!json) say("{}", digest_text(one));
      }
      return json ? print_json(list) : kExitOk;
    }
  }
  const auto comparisons =
      b.empty() ? compare_with_model(a, options) : nb::compare_tensors(a, b, options.tolerance);
  if (!comparisons) return fail(comparisons.error());
  if (json) {
    Json list = Json::array();
    for (const TensorComparison& one : *comparisons) list.push_back(tensor_json(one));
    return print_json(list);
  }
  for (const TensorComparison& one : *comparisons) say("{}", tensor_text(one, options.tolerance));
  return kExitOk;
}

std::vector<CLI::Option*> add_tensor_options(CLI::App& app, TensorOptions& options) {
  TensorTolerance& t = options.tolerance;
  return {
      app.add_option("--model", options.model.model,
                     "instead of B, run A's tokens through this model on an emulated device (a "
                     "model as npubench eval takes it)"),
      app.add_option("--device", options.model.device, "the profile that --model runs on"),
      app.add_option("--keep", options.keep, "keep the tensors of --model in this file"),
      app.add_option("--max-ulp", t.max_ulp_single,
                     "units in the last place that fp32 may be apart")
          ->capture_default_str()
          ->check(within(0, 1e10)),
      app.add_option("--max-ulp-half", t.max_ulp_half, "the same of bf16 and fp16")
          ->capture_default_str()
          ->check(within(0, 1e5)),
      app.add_option("--min-cosine", t.min_cosine, "an output's cosine must be above it")
          ->capture_default_str()
          ->check(within(-1, 1)),
      app.add_option("--max-abs", t.max_abs, "smaller differences pass, however many ulp they are")
          ->capture_default_str()
          ->check(within(0, 1e10))};
}

}  // namespace nb::cli
