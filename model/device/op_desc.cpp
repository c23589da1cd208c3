#include "model/device/op_desc.hpp"

#include "harness/base/check.hpp"

namespace nb {
namespace {

constexpr OpKindInfo kOpKinds[] = {
#define NB_OP_INFO(enumerator, op_name, operands, meaning) \
  {OpKind::enumerator, op_name, operands, meaning},
    NB_OP_KINDS(NB_OP_INFO)
#undef NB_OP_INFO
};

}  // namespace

std::span<const OpKindInfo> op_kinds() { return kOpKinds; }

std::string_view name(OpKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  NB_CHECK(index < std::size(kOpKinds), "[op] kind {} is not in the table", index);
  return kOpKinds[index].name;
}

}  // namespace nb
