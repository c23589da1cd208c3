#include "model/train/not_finite.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace nb {
namespace {

bool is_finite(const Tensor& tensor) {
  const std::span<const float> values = tensor.host();
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return std::isfinite(value); });
}

}  // namespace

std::string first_op_not_finite(Decoder& decoder, const Batch& batch) {
  if (!decoder.device().executes() || batch.inputs.empty()) return {};
  std::string first;
  bool are_logits_finite = true;
  decoder.forward_logits(
      batch.inputs, batch.rows, batch.length, {},
      [&](std::int64_t, ConstMatrix rows) {
        for (std::int64_t i = 0; i < rows.rows; ++i)
          are_logits_finite =
              are_logits_finite && std::all_of(rows.row(i), rows.row(i) + rows.cols,
                                               [](float value) { return std::isfinite(value); });
      },
      [&](const std::string& op, const Tensor& output) {
        if (first.empty() && !is_finite(output)) first = op;
      });
  return first.empty() && !are_logits_finite ? "lm_head" : first;
}

void note_not_finite(std::string& found, double loss, Decoder& decoder, const Batch& batch) {
  if (std::isfinite(loss) || !found.empty()) return;
  found = first_op_not_finite(decoder, batch);
}

std::string gradients_not_finite(Decoder& decoder) {
  std::vector<std::string> names;
  for (const Parameter* p : decoder.trained_parameters())
    if (!p->grad.empty() && !is_finite(p->grad)) names.push_back(p->name);
  if (names.empty()) return {};
  return names.size() == 1 ? names.back()
                           : fmt::format("{} and {} more", names.back(), names.size() - 1);
}

}  // namespace nb
