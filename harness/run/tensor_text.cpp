// A comparison of tensors for terminals.
#include <fmt/format.h>

#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "harness/base/visible_text.hpp"
#include "harness/run/tensor_comparison.hpp"

namespace nb {
namespace {

std::string headline(const TensorComparison& c) {
  if (!c.first)
    return fmt::format("no op is beyond the tolerance: {} outputs were compared\n",
                       c.tensors.size());
  const TensorDifference& d = c.tensors[*c.first];
  return fmt::format("first op beyond the tolerance: {}\n  {}\n  of {}\n", visible_line(d.op),
                     d.beyond, visible_line(d.label));
}

// Ops of a table without what all of them begin with.
std::string short_name(const std::string& op) {
  constexpr std::string_view kPrefix = "transformer.";
  return op.starts_with(kPrefix) ? op.substr(kPrefix.size()) : op;
}

std::string ulp_text(double ulp) {
  return ulp < 1e6 ? fmt::format("{:.0f}", ulp) : fmt::format("{:.0e}", ulp);
}

std::vector<std::string> row_of(const TensorDifference& d) {
  if (d.is_equal) return {short_name(d.op), d.type, "equal", "", "", "", ""};
  return {short_name(d.op),
          d.type,
          fmt::format("{:.2g}", d.relative),
          fmt::format("{:.6f}", d.cosine),
          fmt::format("{:.2g}", d.max_abs),
          ulp_text(d.max_ulp),
          d.beyond.empty() ? "" : "beyond"};
}

// Of the other labels one line each: how many of their ops are beyond, and which is first.
std::string others_text(const TensorComparison& c, const std::string& shown) {
  struct Count {
    std::string label, first;
    std::int64_t ops = 0, beyond = 0;
  };
  std::vector<Count> counts;
  for (const TensorDifference& d : c.tensors) {
    if (d.label == shown) continue;
    if (counts.empty() || counts.back().label != d.label) counts.push_back({d.label, "", 0, 0});
    ++counts.back().ops;
    if (d.beyond.empty()) continue;
    if (counts.back().beyond++ == 0) counts.back().first = d.op;
  }
  std::string text;
  for (const Count& one : counts)
    text +=
        one.beyond == 0
            ? fmt::format("{}: {} outputs within the tolerance\n", visible_line(one.label), one.ops)
            : fmt::format("{}: {} of {} outputs beyond, first {}\n", visible_line(one.label),
                          one.beyond, one.ops, visible_line(one.first));
  return text;
}

std::string lacking(const std::vector<std::string>& names, const char* side) {
  return names.empty() ? ""
                       : fmt::format("only in {}: {} tensors, first {}\n", side, names.size(),
                                     visible_line(names.front()));
}

}  // namespace

std::string tensor_text(const TensorComparison& c, const TensorTolerance& t) {
  const std::string shown = c.tensors[c.first.value_or(0)].label;
  TextTable table{{"op", "type", "relative", "cosine", "max |B−A|", "ulp", ""}, {}};
  for (const TensorDifference& d : c.tensors)
    if (d.label == shown) table.rows.push_back(row_of(d));
  return fmt::format("A: {}\nB: {}\n\n{}\n", visible_line(c.file_a), visible_line(c.file_b),
                     headline(c)) +
         fmt::format(
             "tolerance: cosine above {}; an element may be {} ulp (bf16, fp16: {}) or {} away\n\n",
             t.min_cosine, t.max_ulp_single, t.max_ulp_half, t.max_abs) +
         visible_line(shown) + "\n" + to_text(table, output_width()) + "\n" +
         others_text(c, shown) + lacking(c.only_a, "A") + lacking(c.only_b, "B");
}

}  // namespace nb
