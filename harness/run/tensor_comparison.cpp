#include "harness/run/tensor_comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>

#include "harness/base/fs.hpp"
#include "harness/faults/tensor_digests.hpp"
#include "model/tensor/dtype.hpp"
#include "model/train/safetensors.hpp"
#include "results/store/store.hpp"

namespace nb {
namespace {

constexpr const char* kFile = "tensors.safetensors";
constexpr const char* kTokens = "tokens";

bool is_float(StoredType type) {
  return type == StoredType::kF32 || type == StoredType::kBf16 || type == StoredType::kF16;
}
// What both sides can be told apart in: the format with fewer bits of fraction.
StoredType coarser(StoredType a, StoredType b) {
  for (const StoredType type : {StoredType::kBf16, StoredType::kF16})
    if (a == type || b == type) return type;
  return StoredType::kF32;
}

// Neighbouring numbers of a format have neighbouring places; −0 and 0 the same.
std::int64_t place_of(float value, StoredType type) {
  const auto ordered = [](std::uint32_t bits, std::uint32_t sign) {
    return bits & sign ? -static_cast<std::int64_t>(bits & ~sign) : static_cast<std::int64_t>(bits);
  };
  if (type == StoredType::kBf16) return ordered(bf16_bits(value), 0x8000U);
  if (type == StoredType::kF16) return ordered(fp16_bits(value), 0x8000U);
  return ordered(std::bit_cast<std::uint32_t>(value), 0x80000000U);
}

std::size_t elements(const SafetensorsEntry& entry) {
  return entry.bytes.size() / size_bytes(entry.type);
}

class Difference {
 public:
  Difference(const std::string& name, StoredType type, const TensorTolerance& tolerance)
      : tolerance_(tolerance), type_(type) {
    const TensorName parts = tensor_name(name);
    result_.label = parts.label;
    result_.op = parts.op;
    result_.type = std::string(nb::name(type));
  }

  TensorDifference operator()(std::span<const float> a, std::span<const float> b) {
    result_.count = std::ssize(a);
    result_.is_equal = std::ranges::equal(a, b);
    for (std::size_t i = 0; i < a.size(); ++i) add(a[i], b[i]);
    if (aa_ > 0 || bb_ > 0) {
      result_.relative = aa_ > 0 ? std::sqrt(dd_ / aa_) : HUGE_VAL;
      result_.cosine = aa_ > 0 && bb_ > 0 ? ab_ / std::sqrt(aa_ * bb_) : 0;
    }
    judge();
    return std::move(result_);
  }

 private:
  double max_ulp() const {
    return type_ == StoredType::kF32 ? tolerance_.max_ulp_single : tolerance_.max_ulp_half;
  }

  void add(float a, float b) {
    if (!std::isfinite(a) || !std::isfinite(b)) {
      const bool same = std::isnan(a) ? std::isnan(b) : a == b;
      result_.not_finite += same ? 0 : 1;
      return;
    }
    const double x = static_cast<double>(a), y = static_cast<double>(b), away = std::fabs(y - x);
    dd_ += away * away;
    aa_ += x * x;
    bb_ += y * y;
    ab_ += x * y;
    const auto ulp = static_cast<double>(std::abs(place_of(a, type_) - place_of(b, type_)));
    result_.max_abs = std::max(result_.max_abs, away);
    result_.max_ulp = std::max(result_.max_ulp, ulp);
    if (ulp > max_ulp() && away > tolerance_.max_abs) ++far_;
  }

  void judge() {
    if (result_.not_finite > 0)
      result_.beyond = fmt::format("{} elements are finite on one side alone", result_.not_finite);
    else if (result_.cosine <= tolerance_.min_cosine)
      result_.beyond =
          fmt::format("cosine {:.4f}, not above {}", result_.cosine, tolerance_.min_cosine);
    else if (far_ > 0)
      result_.beyond = fmt::format("{} of {} elements differ by more than {} ulp and {}", far_,
                                   result_.count, max_ulp(), tolerance_.max_abs);
  }

  const TensorTolerance& tolerance_;
  StoredType type_;
  TensorDifference result_;
  double dd_ = 0, aa_ = 0, bb_ = 0, ab_ = 0;
  std::int64_t far_ = 0;
};

std::vector<std::string> without(const std::vector<std::string>& names,
                                 const SafetensorsFile& file) {
  std::vector<std::string> left;
  std::ranges::copy_if(names, std::back_inserter(left),
                       [&](const std::string& name) { return !file.entries().contains(name); });
  return left;
}

Result<void> check_tokens(const std::string& name, const SafetensorsFile& a,
                          const SafetensorsFile& b) {
  if (!tensor_name(name).op.starts_with(kTokens)) return {};
  if (std::ranges::equal(a.entries().at(name).bytes, b.entries().at(name).bytes)) return {};
  return bad_input(fmt::format(
      "{} and {}: {} differs, so the ops after it had other inputs; compare runs of the same data",
      a.path(), b.path(), name));
}

}  // namespace

TensorName tensor_name(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string::npos) return {"", name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

Result<std::vector<std::string>> tensor_order(const SafetensorsFile& file) {
  const auto text = file.texts().find("order");
  if (text == file.texts().end())
    return bad_input(
        file.path() +
        ": has no order of its tensors; write it with nanochat_capture.py --tensors N");
  NB_TRY(const Json json, parse_json(text->second, file.path() + ": /__metadata__/order"));
  std::vector<std::string> order;
  for (const Json& name : json) {
    if (!json.is_array() || !name.is_string() || !file.entries().contains(name.get<std::string>()))
      return bad_input(file.path() + ": /__metadata__/order: not a list of its tensors");
    order.push_back(name.get<std::string>());
  }
  return order;
}

Result<std::vector<std::pair<std::string, fs::path>>> tensor_files(const fs::path& run) {
  std::error_code error;
  if (fs::is_regular_file(run, error)) return std::vector{std::pair(std::string(), run)};
  NB_TRY(const RunRecords records, read_run(run));
  std::vector<std::pair<std::string, fs::path>> files;
  for (const StoredRecord& stored : records.records) {
    if (!stored.record.host_artifacts.contains(kFile) && !stored.record.artifacts.contains(kFile))
      continue;
    NB_TRY_VOID(verify_artifact(stored, kFile));
    files.emplace_back(stored.record.kind, stored.folder / kFile);
  }
  if (files.empty())
    return nothing_found(records, run.string() + ": no record in it has a " + kFile +
                                      "; capture it with --tensors N");
  return files;
}

Result<std::vector<std::pair<std::string, fs::path>>> digest_files(const fs::path& run) {
  std::error_code error;
  std::vector<std::pair<std::string, fs::path>> files;
  if (fs::is_regular_file(run, error)) {
    if (run.extension() == ".csv") files.emplace_back("", run);
    return files;
  }
  NB_TRY(const RunRecords records, read_run(run));
  for (const StoredRecord& stored : records.records) {
    if (!stored.record.artifacts.contains(kRankTensors)) continue;
    NB_TRY_VOID(verify_artifact(stored, kRankTensors));
    files.emplace_back(stored.record.name, stored.folder / kRankTensors);
  }
  return files;
}

Result<TensorComparison> compare_tensor_files(const fs::path& a, const fs::path& b,
                                              const TensorTolerance& tolerance) {
  NB_TRY(const SafetensorsFile left, SafetensorsFile::open(a));
  NB_TRY(const SafetensorsFile right, SafetensorsFile::open(b));
  NB_TRY(const std::vector<std::string> order_a, tensor_order(left));
  NB_TRY(const std::vector<std::string> order_b, tensor_order(right));
  TensorComparison comparison{left.path(),           right.path(), {}, {}, without(order_a, right),
                              without(order_b, left)};
  for (const std::string& name : order_a) {
    if (!right.entries().contains(name)) continue;
    NB_TRY_VOID(check_tokens(name, left, right));
    const SafetensorsEntry &x = left.entries().at(name), &y = right.entries().at(name);
    if (!is_float(x.type) || !is_float(y.type)) continue;
    // (B,T,H,D) of one side may be (B·T, H·D) of the other: the same numbers in the same order.
    if (elements(x) != elements(y))
      return bad_input(fmt::format("{} has shape [{}] in {}, [{}] in {}", name,
                                   fmt::join(x.shape, ", "), a.string(), fmt::join(y.shape, ", "),
                                   b.string()));
    NB_TRY(const std::vector<float> of_a, left.read_floats(name, x.shape));
    NB_TRY(const std::vector<float> of_b, right.read_floats(name, y.shape));
    comparison.tensors.push_back(Difference(name, coarser(x.type, y.type), tolerance)(of_a, of_b));
    if (!comparison.first && !comparison.tensors.back().beyond.empty())
      comparison.first = comparison.tensors.size() - 1;
  }
  if (comparison.tensors.empty())
    return bad_input(fmt::format("{} and {} have no tensor in common", a.string(), b.string()));
  return comparison;
}

Result<std::vector<TensorComparison>> compare_tensors(const fs::path& a, const fs::path& b,
                                                      const TensorTolerance& tolerance) {
  NB_TRY(const auto files_a, tensor_files(a));
  NB_TRY(auto files_b, tensor_files(b));
  std::vector<TensorComparison> comparisons;
  const bool are_files = files_a[0].first.empty() || files_b[0].first.empty();
  for (const auto& [kind, file] : files_a) {
    const auto other = std::ranges::find_if(
        files_b, [&, &kind = kind](const auto& one) { return are_files || one.first == kind; });
    if (other == files_b.end()) continue;
    NB_TRY(TensorComparison comparison, compare_tensor_files(file, other->second, tolerance));
    comparisons.push_back(std::move(comparison));
    files_b.erase(other);
  }
  if (comparisons.empty())
    return bad_input(fmt::format("{} and {}: their tensors are of other kinds of records",
                                 a.string(), b.string()));
  return comparisons;
}

Json tensor_json(const TensorComparison& c) {
  Json tensors = Json::array();
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  for (const TensorDifference& d : c.tensors)
    tensors.push_back({{"label", d.label},
                       {"op", d.op},
                       {"type", d.type},
                       {"elements", d.count},
                       {"relative_error", number(d.relative)},
                       {"cosine", d.cosine},
                       {"max_abs", d.max_abs},
                       {"max_ulp", d.max_ulp},
                       {"not_finite", d.not_finite},
                       {"equal", d.is_equal},
                       {"beyond", d.beyond}});
  const Json first = c.first ? tensors[*c.first] : Json();
  return {{"a", c.file_a},      {"b", c.file_b},      {"first_beyond", first},
          {"only_a", c.only_a}, {"only_b", c.only_b}, {"tensors", tensors}};
}

}  // namespace nb
