#include "model/train/tensor_cuts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/base/check.hpp"
#include "harness/base/table.hpp"

namespace nb {
namespace {

struct CutRule {
  std::string_view begin, end;  // of the name
  WeightCut cut;
  std::size_t dimension;  // of the weight: (out, in), a bias (out), a table (tokens, width)
};

// What is not here is replicated: norms, positions, lambdas, smear, and biases behind a sum.
constexpr auto kCuts = std::to_array<CutRule>({
    {"transformer.h.", ".attn.c_q.weight", WeightCut::kColumn, 0},
    {"transformer.h.", ".attn.c_k.weight", WeightCut::kColumn, 0},
    {"transformer.h.", ".attn.c_v.weight", WeightCut::kColumn, 0},
    {"transformer.h.", ".attn.c_q.bias", WeightCut::kColumn, 0},
    {"transformer.h.", ".attn.c_k.bias", WeightCut::kColumn, 0},
    {"transformer.h.", ".attn.c_v.bias", WeightCut::kColumn, 0},
    {"transformer.h.", ".attn.ve_gate.weight", WeightCut::kColumn, 0},
    {"value_embeds.", ".weight", WeightCut::kColumn, 1},
    {"transformer.h.", ".attn.c_proj.weight", WeightCut::kRow, 1},
    {"transformer.h.", ".mlp.c_gate.weight", WeightCut::kColumn, 0},
    {"transformer.h.", ".mlp.c_gate.bias", WeightCut::kColumn, 0},
    {"transformer.h.", ".mlp.c_fc.weight", WeightCut::kColumn, 0},
    {"transformer.h.", ".mlp.c_fc.bias", WeightCut::kColumn, 0},
    {"transformer.h.", ".mlp.c_proj.weight", WeightCut::kRow, 1},
    {"transformer.wte.weight", "", WeightCut::kVocabulary, 0},
    {"lm_head.weight", "", WeightCut::kVocabulary, 0},
});

const CutRule* rule_of(std::string_view name) {
  const auto found = std::ranges::find_if(kCuts, [&](const CutRule& rule) {
    return name.starts_with(rule.begin) && name.ends_with(rule.end);
  });
  return found == kCuts.end() ? nullptr : found;
}

std::int64_t rows_of_part(const DecoderConfig& whole, std::int64_t parts) {
  return (whole.table_rows() + parts - 1) / parts;
}

}  // namespace

WeightCut weight_cut(std::string_view name) {
  const CutRule* rule = rule_of(name);
  return rule == nullptr ? WeightCut::kReplicated : rule->cut;
}

std::optional<std::size_t> cut_dimension(std::string_view name) {
  const CutRule* rule = rule_of(name);
  return rule == nullptr ? std::nullopt : std::optional(rule->dimension);
}

bool is_read_by_rows(std::string_view name) {
  return weight_cut(name) == WeightCut::kReplicated && !name.starts_with("transformer.wpe.") &&
         !name.starts_with("smear_");
}

Result<void> check_parts(const DecoderConfig& config, std::int64_t parts) {
  struct Number {
    std::int64_t count;
    const char *one, *several;
  };
  for (const Number& number : {Number{config.n_head, "head", "heads"},
                               Number{config.n_kv_head, "key-value head", "key-value heads"},
                               Number{config.hidden(), "column of the MLP", "columns of the MLP"}})
    if (number.count % parts != 0)
      return bad_input(fmt::format(
          "mesh/tp: {} ranks cannot share {} evenly; choose a divisor, or another model", parts,
          count_text(number.count, number.one, number.several)));
  const std::int64_t rows = rows_of_part(config, parts);
  if (config.vocab_size <= (parts - 1) * rows)
    return bad_input(
        fmt::format("mesh/tp: of {} tokens on {} ranks, {} each, the last rank has none; choose "
                    "fewer ranks",
                    config.vocab_size, parts, rows));
  return {};
}

DecoderConfig part_config(const DecoderConfig& whole, int part, int parts) {
  const auto checked = check_parts(whole, parts);
  NB_CHECK(checked.has_value(), "{}", checked.error().message);
  DecoderConfig config = whole;
  config.architecture.head_dim = whole.head_dim();
  config.architecture.hidden = whole.hidden() / parts;
  config.n_head /= parts;
  config.n_kv_head /= parts;
  const std::int64_t rows = rows_of_part(whole, parts);
  config.vocab_size = std::min(rows, whole.vocab_size - part * rows);
  config.architecture.vocab_multiple = rows;
  return config;
}

Shape part_shape(std::string_view name, const Shape& whole, int parts) {
  const std::optional<std::size_t> dimension = cut_dimension(name);
  const auto size = [&](std::size_t i) {
    return dimension == i ? (whole[i] + parts - 1) / parts : whole[i];
  };
  return whole.rank() == 1 ? Shape{size(0)} : Shape{size(0), size(1)};
}

void each_run(std::string_view name, const Shape& whole, const Shape& shape_of_part, int part,
              const std::function<void(std::size_t, std::size_t, std::size_t)>& body) {
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const std::optional<std::size_t> dimension = cut_dimension(name);
  if (!dimension) return body(0, 0, size(whole.count()));
  if (*dimension == 0) {
    const std::int64_t begin = std::min(whole[0], part * shape_of_part[0]);
    const std::int64_t rows = std::min(shape_of_part[0], whole[0] - begin);
    const std::int64_t length = whole.count() / whole[0];
    return body(size(begin * length), 0, size(rows * length));
  }
  const std::size_t width = size(shape_of_part[1]);
  for (std::size_t row = 0; row < size(whole[0]); ++row)
    body(row * size(whole[1]) + size(part) * width, row * width, width);
}

}  // namespace nb
