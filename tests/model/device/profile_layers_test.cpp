#include "model/device/profile_layers.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "model/device/device_table.hpp"
#include "model/device/profile.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

std::string layers_error(const Json& file, const std::optional<std::string>& stack = {}) {
  const auto composed = compose_profile(file, "p.json", stack);
  return composed ? "" : composed.error().message;
}

Json raw_machine(const std::string& name) {
  return *read_json(fs::path(NB_SOURCE_DIR) / "model/device/profiles" / (name + ".json"));
}

// Vendor's formula (asc-devkit mmad_perf README): cores × 4096 multiply-adds × 2 × clock; fp32 a
// quarter, HF32 half.
TEST(ProfileLayers, PeaksOfTheAscendsFollowFromCoresAndClock) {
  for (const char* name :
       {"ascend_910b1", "ascend_910b2", "ascend_910b3", "ascend_910b4", "ascend_910c"}) {
    const DeviceProfile p = *load_profile(name);
    ASSERT_TRUE(p.matrix.clock) << name;
    const double peak = p.matrix.cores.value * 4096 * 2 * p.matrix.clock->value / 1000;
    EXPECT_NEAR(p.matrix.peak.bf16->value, peak, 5e-4) << name;
    EXPECT_NEAR(p.matrix.peak.fp16->value, peak, 5e-4) << name;
    EXPECT_NEAR(p.matrix.peak.hf32->value, peak / 2, 5e-4) << name;
    EXPECT_NEAR(p.matrix.peak.fp32->value, peak / 4, 5e-4) << name;
  }
  const DeviceProfile old = *load_profile("ascend_910a");
  EXPECT_FALSE(old.matrix.peak.bf16 || old.matrix.peak.fp32);
  EXPECT_EQ(old.numerics.matmul_inputs, DType::kFp16);
  EXPECT_EQ(old.numerics.fp16_overflow, Fp16Overflow::kSaturate);
}

// hicann/runtime platform_config/cann/Ascend*.ini @ 681ef761: cores, MiB of L2, GB of HBM.
TEST(ProfileLayers, BinsDifferWhereTheVendorsFilesDo) {
  struct Row {
    const char* name;
    double cores, cache_mib, memory_gb;
  };
  for (const Row& row : {Row{"ascend_910b1", 24, 192, 64}, Row{"ascend_910b2", 24, 192, 64},
                         Row{"ascend_910b3", 20, 192, 64}, Row{"ascend_910b4", 20, 96, 32},
                         Row{"ascend_910c", 24, 192, 64}, Row{"ascend_910a", 32, 32, 32}}) {
    const DeviceProfile p = *load_profile(row.name);
    EXPECT_EQ(p.matrix.cores.value, row.cores) << row.name;
    EXPECT_EQ(p.memory.cache.capacity.value * 1024, row.cache_mib) << row.name;
    EXPECT_EQ(p.memory.main.capacity.value, row.memory_gb) << row.name;
    EXPECT_LT(p.memory.usable.value, row.memory_gb) << row.name;
  }
  EXPECT_EQ(load_profile("ascend_910c")->links.devices.value, 16);
}

TEST(ProfileLayers, EveryStackGoesWithEveryMachineOfItsKind) {
  for (const std::string& machine : profile_names()) {
    const std::string kind = load_profile(machine)->identity.kind;
    for (const std::string& stack : stack_names()) {
      const auto json = load_profile_json(machine, stack);
      const bool is_for_gpu = stack.ends_with("_cuda");
      const bool fits = (kind != "gpu" && kind != "npu") || (kind == "gpu") == is_for_gpu;
      ASSERT_EQ(json.has_value(), fits) << machine << " " << stack;
      if (fits) {
        EXPECT_EQ((*json)["stack"], stack);
      }
    }
  }
}

TEST(ProfileLayers, AWholeFileGivesUpItsStackForAnother) {
  const DeviceProfile own = *load_profile("tiny");
  const DeviceProfile other = *load_profile("tiny", "nanochat_cuda");
  EXPECT_EQ(own.software.mode.value, SoftwareMode::kEager);
  EXPECT_EQ(other.software.mode.value, SoftwareMode::kCompiled);
  EXPECT_EQ(other.stack, "nanochat_cuda");
  EXPECT_EQ(other.family, "nanochat_gpu");
  EXPECT_EQ(other.links.bandwidth.value, own.links.bandwidth.value);
}

TEST(ProfileLayers, AFileWithABaseSaysOnlyWhatDiffers) {
  const test::TempDir dir;
  const Json mine = {{"base", "ascend_910b3"},
                     {"identity", {{"name", "mine"}}},
                     {"links", {{"devices", {{"value", 4}, {"unit", "device"}, {"source", "s"}}}}}};
  ASSERT_TRUE(write_json(dir / "mine.json", mine).has_value());
  const auto loaded = load_profile((dir / "mine.json").string());
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->name(), "mine");
  EXPECT_EQ(loaded->links.devices.value, 4);
  EXPECT_EQ(loaded->matrix.cores.value, 20);
}

TEST(ProfileLayers, WhatIsNotThereIsNamedWithTheNearest) {
  Json file = raw_machine("ascend_910b3");
  EXPECT_EQ(layers_error(file, "nanochat_np"),
            "p.json: /stack: no stack \"nanochat_np\"; did you mean \"nanochat_npu\" or "
            "\"nanochat_npu_no_autocast\"? (known: "
            "megatron_cuda, megatron_mindspeed, nanochat_cuda, nanochat_npu, "
            "nanochat_npu_no_autocast)");
  EXPECT_EQ(layers_error(file, "nanochat_cuda"),
            "p.json: stack \"nanochat_cuda\" is made for a gpu, this is a npu; take "
            "megatron_mindspeed, nanochat_npu, nanochat_npu_no_autocast");
  file["base"] = "ascend_910b5";
  EXPECT_NE(layers_error(file).find("p.json: /base: no machine \"ascend_910b5\"; did you mean"),
            std::string::npos);
  file.erase("base");
  file.erase("stack");
  EXPECT_NE(layers_error(file).find("p.json: /stack: missing; name the software stack"),
            std::string::npos);
}

// A stack that names a family which is not there, or one with a constant beyond its range.
TEST(ProfileLayers, BadStacksAndFamiliesAreOneSentence) {
  const test::TempDir dir;
  const fs::path folder = fs::path(NB_SOURCE_DIR) / "model/device";
  Json stack = *read_json(folder / "stacks/nanochat_npu.json");
  const Json machine = raw_machine("ascend_910b3");
  const auto error_with = [&](const Json& json) {
    EXPECT_TRUE(write_json(dir / "s.json", json).has_value());
    return layers_error(machine, (dir / "s.json").string());
  };
  EXPECT_EQ(error_with(stack), "");
  Json other = stack;
  other["family"] = "nanochat_nppu";
  EXPECT_NE(error_with(other).find("no family \"nanochat_nppu\"; did you mean \"nanochat_npu\"?"),
            std::string::npos);
  other = stack;
  other.erase("numerics");
  EXPECT_NE(error_with(other).find("/numerics: missing"), std::string::npos);

  Json family = *read_json(folder / "families/nanochat_npu.json");
  family["constants"]["matrix_efficiency"]["value"] = 0.97;
  ASSERT_TRUE(write_json(dir / "f.json", family).has_value());
  stack["family"] = (dir / "f.json").string();
  EXPECT_NE(error_with(stack).find("/constants/matrix_efficiency/value: 0.97 is outside of its "
                                   "range, 0.6 to 0.95"),
            std::string::npos)
      << error_with(stack);
  family["constants"]["matrix_efficiency"]["value"] = 0.9;
  family["constants"]["matrix_efficiency"]["at"] = "/matrx/efficiency";
  ASSERT_TRUE(write_json(dir / "f.json", family).has_value());
  EXPECT_NE(error_with(stack).find("a profile has no \"/matrx/efficiency\""), std::string::npos)
      << error_with(stack);
}

TEST(ProfileLayers, EveryFamilyHasItsConstantsWithinTheirRanges) {
  for (const std::string& family : family_names()) {
    const auto constants = family_constants(family);
    ASSERT_TRUE(constants) << constants.error().message;
    EXPECT_LE(constants->size(), 5U) << family;
    for (const FamilyConstant& c : *constants) EXPECT_LT(c.min, c.max) << family << " " << c.name;
  }
}

// README.md of model/device shows the machines between two comments; NB_ACCEPT=1 writes them.
TEST(ProfileLayers, TheReadmeShowsTheDevicesOfTheFiles) {
  const fs::path path = fs::path(NB_SOURCE_DIR) / "model/device/README.md";
  const std::string begin = "<!-- devices: made from the files -->\n";
  const std::string end = "<!-- end of devices -->";
  std::string text = *read_file(path);
  const std::size_t from = text.find(begin), to = text.find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  const std::string table = to_markdown(*device_table()) + "\n" + to_markdown(*stack_table());
  const std::size_t start = from + begin.size();
  if (std::getenv("NB_ACCEPT") != nullptr) {
    text.replace(start, to - start, table);
    ASSERT_TRUE(write_file(path, text).has_value());
    return;
  }
  EXPECT_EQ(text.substr(start, to - start), table) << "NB_ACCEPT=1 writes it";
}

}  // namespace
}  // namespace nb
