#include "model/device/op_desc.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "harness/base/check.hpp"

namespace nb {
namespace {

constexpr OpKindInfo kOpKinds[] = {
#define NB_OP_INFO(enumerator, op_name, operands, meaning) \
  {OpKind::enumerator, op_name, operands, meaning},
    NB_OP_KINDS(NB_OP_INFO)
#undef NB_OP_INFO
};

constexpr auto kIsBackward = [] {
  std::array<bool, std::size(kOpKinds)> answers{};
  for (std::size_t i = 0; i < answers.size(); ++i)
    answers[i] = kOpKinds[i].name.find("_backward") != std::string_view::npos;
  return answers;
}();

}  // namespace

std::span<const OpKindInfo> op_kinds() { return kOpKinds; }

std::int64_t visible_pairs(std::int64_t queries, std::int64_t keys, std::int64_t window) {
  const std::int64_t all = queries * (keys - queries) + queries * (queries + 1) / 2;
  if (window == 0 || window + 1 >= keys) return all;
  // A query at position p > window misses p - window keys.
  const std::int64_t last = keys - 1 - window, first = std::max<std::int64_t>(last - queries, 0);
  return all - (last * (last + 1) - first * (first + 1)) / 2;
}

std::int64_t visible_keys(std::int64_t queries, std::int64_t keys, std::int64_t window) {
  return window == 0 ? keys : std::min(keys, queries + window);
}

bool is_backward(OpKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  NB_CHECK(index < kIsBackward.size(), "[op] kind {} is not in the table", index);
  return kIsBackward[index];
}

std::string_view name(OpKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  NB_CHECK(index < std::size(kOpKinds), "[op] kind {} is not in the table", index);
  return kOpKinds[index].name;
}

}  // namespace nb
