#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "model/device/device.hpp"
#include "tests/model/device/sample_ops.hpp"

namespace nb {
namespace {

using test::profile;

struct Model {
  explicit Model(Device& d)
      : device(d),
        w(d.allocate({64, 64}, DType::kFp32, "w")),
        table(d.allocate({256, 64}, DType::kBf16, "table")) {}
  void step(int i) {
    std::vector<Tensor> activations;
    for (int n = 0; n < 4; ++n) {
      activations.push_back(device.allocate({16 + n * 100, 64 * (1 + i % 3)}, DType::kBf16, "a"));
      device.run(test::sample_op(OpKind::kRmsNorm), [] {});
      device.run(test::sample_op(OpKind::kLinear), [] {});
    }
    if (i == 1) late = device.allocate({1000}, DType::kFp32, "late");
    device.run(test::sample_op(OpKind::kSoftcapCrossEntropy), [] {});
  }
  Device& device;
  Tensor w, table, late;
};

TEST(DeviceState, ResumedRunEndsWithTheSameClockAndMemory) {
  for (const std::string& name : profile_names()) {
    Device straight(profile(name), ExecutionMode::kDry);
    Model a(straight);
    for (int i = 0; i < 3; ++i) a.step(i);
    const Json saved = *parse_json(*dump_json(straight.state()), "state");
    for (int i = 3; i < 6; ++i) a.step(i);

    Device resumed(profile(name), ExecutionMode::kDry);
    Model b(resumed);
    b.late = resumed.allocate({1000}, DType::kFp32, "late");
    const Result<void> restored = resumed.restore(saved);
    ASSERT_TRUE(restored.has_value()) << restored.error().message;
    for (int i = 3; i < 6; ++i) b.step(i);
    EXPECT_EQ(straight.time_ns(), resumed.time_ns()) << name;
    EXPECT_EQ(straight.memory(), resumed.memory()) << name;
    EXPECT_EQ(straight.counters(), resumed.counters()) << name;
    EXPECT_EQ(straight.state(), resumed.state()) << name;
  }
}

// A block that took an unsplit remainder with it is larger in the checkpoint than in a fresh run.
TEST(DeviceState, BlockWithARemainderIsRestored) {
  for (const std::string& name : profile_names()) {
    Device straight(profile(name), ExecutionMode::kDry);
    {  // a segment of its own, which stays cached and is a little larger than what comes next
      const Tensor hole = straight.allocate({(12 << 20) / 4}, DType::kFp32, "hole");
    }
    const Tensor a = straight.allocate({(12 << 20) / 4 - 100000}, DType::kFp32, "moment");
    const Json saved = *parse_json(*dump_json(straight.state()), "state");

    Device resumed(profile(name), ExecutionMode::kDry);
    const Tensor b = resumed.allocate({(12 << 20) / 4 - 100000}, DType::kFp32, "moment");
    const Result<void> restored = resumed.restore(saved);
    ASSERT_TRUE(restored.has_value()) << name << ": " << restored.error().message;
    EXPECT_EQ(resumed.state(), straight.state()) << name;
  }
}

TEST(DeviceState, OtherTensorsAreRefusedByName) {
  Device a(profile("tiny"), ExecutionMode::kDry), b(profile("tiny"), ExecutionMode::kDry);
  const Model model(a);
  const Tensor w = b.allocate({64, 64}, DType::kFp32, "w");
  const Tensor other = b.allocate({256, 64}, DType::kBf16, "other");
  const Json before = b.state();
  const Result<void> restored = b.restore(a.state());
  ASSERT_FALSE(restored.has_value());
  EXPECT_EQ(
      restored.error().message,
      "device memory: block 1 is \"table\" of 32768 bytes in the checkpoint, \"other\" of 32768 in "
      "this run");
  EXPECT_EQ(b.state(), before);
}

TEST(DeviceState, DamagedStateIsRefused) {
  Device device(profile("tiny"), ExecutionMode::kDry);
  const Tensor w = device.allocate({64, 64}, DType::kFp32, "w");
  const Json good = device.state();
  for (const char* pointer : {"/clock", "/clock/host_ns", "/counters/flops", "/memory/blocks",
                              "/memory/blocks/0/4", "/memory/live", "/memory/stats/retries"}) {
    Json bad = good;
    bad[Json::json_pointer(pointer)] = "x";
    EXPECT_FALSE(device.restore(bad).has_value()) << pointer;
  }
  Json moved = good;
  moved["memory"]["blocks"][0][0] = 12345;
  EXPECT_FALSE(device.restore(moved).has_value());
  EXPECT_EQ(device.state(), good);
  Device other(profile("h100_sxm"), ExecutionMode::kDry);
  EXPECT_FALSE(other.restore(good).has_value());
}

}  // namespace
}  // namespace nb
