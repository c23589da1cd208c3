#include "harness/faults/tensor_digests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "harness/base/csv.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/table.hpp"
#include "harness/faults/own_parameters.hpp"
#include "model/tensor/dtype.hpp"

namespace nb {
namespace {

constexpr std::array<const char*, 5> kColumns = {"step", "part", "rank", "tensor", "sha256"};
constexpr const char* kWeights = "weights";
constexpr const char* kGradients = "gradients";
constexpr std::size_t kDigits = 16;

std::string digest(const Tensor& tensor) {
  const std::span<const float> values = tensor.host();
  std::vector<float> same(values.size());
  std::ranges::transform(values, same.begin(), canonical);
  Sha256 hash;
  hash.update(std::as_bytes(std::span(same)));
  return hash.hex().substr(0, kDigits);
}

struct Row {
  std::int64_t step = 0, rank = 0;
  std::string part, tensor, digest;
  auto place() const { return std::tuple(step, part, rank, tensor); }
};

Result<std::vector<Row>> read_rows(const std::filesystem::path& path) {
  NB_TRY(const CsvTable table, read_csv(path, CsvFormulas::kUnquoted));
  if (!std::ranges::equal(table.header, kColumns))
    return bad_input(
        fmt::format("{}:1: its columns are not {}", path.string(), fmt::join(kColumns, ",")));
  std::vector<Row> rows;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const std::vector<std::string>& cells = table.rows[i];
    Row row{0, 0, cells[1], cells[3], cells[4]};
    for (const auto& [text, value] :
         {std::pair(&cells[0], &row.step), std::pair(&cells[2], &row.rank)}) {
      const char* const end = text->data() + text->size();
      const auto [rest, error] = std::from_chars(text->data(), end, *value);
      if (error != std::errc() || rest != end)
        return bad_input(
            fmt::format("{}:{}: \"{}\" is no number", path.string(), table.lines[i], *text));
    }
    if (row.part != kWeights && row.part != kGradients)
      return bad_input(fmt::format("{}:{}: \"{}\" is neither weights nor gradients", path.string(),
                                   table.lines[i], row.part));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string line_of(const Row& row) {
  return csv_line({std::to_string(row.step), row.part, std::to_string(row.rank), row.tensor,
                   row.digest}) +
         "\n";
}

}  // namespace

TensorDigests::TensorDigests(const std::filesystem::path& folder) : path_(folder / kRankTensors) {
  const auto rows = read_rows(path_);
  if (!rows) return;  // none yet
  for (const Row& row : *rows)
    rows_[{row.step, row.part == kGradients, static_cast<int>(row.rank)}] += line_of(row);
}

void TensorDigests::note(StepPart part, std::int64_t step, int rank, TrainedModel& model) {
  const bool of_gradients = part == StepPart::kBackward;
  if (part != StepPart::kForward && !of_gradients) return;
  std::string lines;
  for (const Parameter* one : own_parameters(model)) {
    const Tensor& tensor = of_gradients ? one->grad : one->value;
    if (!tensor.empty())
      lines +=
          line_of({step, rank, of_gradients ? kGradients : kWeights, one->name, digest(tensor)});
  }
  const std::lock_guard lock(mutex_);
  if (!has_begun_) rows_.erase(rows_.lower_bound({step, false, 0}), rows_.end());
  has_begun_ = true;
  rows_[{step, of_gradients, rank}] = std::move(lines);
}

Result<void> TensorDigests::write(std::int64_t end) {
  std::string text = csv_line({kColumns.begin(), kColumns.end()}) + "\n";
  const std::lock_guard lock(mutex_);
  for (const auto& [place, lines] : rows_)
    if (std::get<0>(place) < end) text += lines;
  return write_file(path_, text);
}

Result<DigestComparison> compare_digests(const std::filesystem::path& a,
                                         const std::filesystem::path& b) {
  NB_TRY(const std::vector<Row> rows, read_rows(a));
  NB_TRY(const std::vector<Row> others, read_rows(b));
  std::map<decltype(Row().place()), std::string> digests;
  for (const Row& row : others) digests[row.place()] = row.digest;
  DigestComparison comparison{a.string(), b.string(), 0, 0, {}};
  for (const Row& row : rows) {
    const auto other = digests.find(row.place());
    if (other == digests.end()) continue;
    ++comparison.compared;
    if (other->second == row.digest) continue;
    ++comparison.differing;
    if (!comparison.first) comparison.first = {row.step, row.rank, row.part, row.tensor};
  }
  if (comparison.compared == 0)
    return bad_input(fmt::format("{} and {} have no tensor of a rank and a step in common",
                                 a.string(), b.string()));
  return comparison;
}

std::string digest_text(const DigestComparison& comparison) {
  if (!comparison.first)
    return fmt::format("no tensor differs: {} of ranks and steps were compared\n",
                       with_commas(comparison.compared));
  const DigestComparison::First& first = *comparison.first;
  return fmt::format(
      "first different tensor: step {}, rank {}, {}\n  {} when {}; {} of {} tensors of ranks and "
      "steps differ\n",
      first.step, first.rank, first.tensor, first.part,
      first.part == kWeights ? "the step begins" : "its passes are done",
      with_commas(comparison.differing), with_commas(comparison.compared));
}

Json digest_json(const DigestComparison& comparison) {
  Json first;
  if (comparison.first)
    first = {{"step", comparison.first->step},
             {"rank", comparison.first->rank},
             {"part", comparison.first->part},
             {"tensor", comparison.first->tensor}};
  return {{"a", comparison.file_a},
          {"b", comparison.file_b},
          {"compared", comparison.compared},
          {"differing", comparison.differing},
          {"first", first}};
}

}  // namespace nb
