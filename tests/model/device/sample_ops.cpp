#include "tests/model/device/sample_ops.hpp"

#include <stdexcept>

namespace nb::test {

OpDesc sample_op(OpKind kind) {
  OpDesc desc;
  desc.kind = kind;
  desc.label = "sample";
  desc.batch = 2;
  desc.time = 8;
  desc.heads = 4;
  desc.kv_heads = 4;
  desc.head_dim = 16;
  desc.rows = 16;
  desc.cols = 64;
  desc.inner = 64;
  desc.vocab = 256;
  desc.count = 1024;
  desc.to_dtype = DType::kBf16;
  return desc;
}

std::vector<OpDesc> sample_ops() {
  std::vector<OpDesc> ops;
  for (const OpKindInfo& info : op_kinds()) ops.push_back(sample_op(info.kind));
  return ops;
}

bool is_collective(OpKind kind) {
  return kind == OpKind::kAllReduce || kind == OpKind::kReduceScatter ||
         kind == OpKind::kAllGather || kind == OpKind::kBroadcast || kind == OpKind::kAllToAll ||
         kind == OpKind::kSendReceive || kind == OpKind::kBarrier;
}

DeviceProfile profile(const std::string& name) {
  Result<DeviceProfile> loaded = load_profile(name);
  if (!loaded) throw std::runtime_error(loaded.error().message);
  return *std::move(loaded);
}

}  // namespace nb::test
