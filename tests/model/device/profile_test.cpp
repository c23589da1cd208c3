#include "model/device/profile.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "model/device/quantity.hpp"
#include "tests/model/device/sample_ops.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

Json text_of(const std::string& name) { return *parse_json(profile_text(name), name); }

std::string error_of(const Json& json) {
  const Result<DeviceProfile> parsed = parse_profile(json, "p.json");
  return parsed ? "" : parsed.error().message;
}

TEST(Profile, AllBuiltInOnesLoad) {
  const std::vector<std::string> names = profile_names();
  EXPECT_EQ(names, (std::vector<std::string>{
                       "a100_sxm", "a800_sxm", "ascend_910a", "ascend_910b1", "ascend_910b2",
                       "ascend_910b3", "ascend_910b4", "ascend_910c", "b200_sxm", "cpu_ref",
                       "h100_sxm", "h200_sxm", "h20_sxm", "l40s", "rtx_4090", "rtx_5090", "tiny"}));
  for (const std::string& name : names) {
    const Result<DeviceProfile> loaded = load_profile(name);
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    EXPECT_EQ(loaded->name(), name);
  }
}

TEST(Profile, UnknownDeviceNamesTheNearest) {
  const Result<DeviceProfile> loaded = load_profile("ascend_910b");
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(loaded.error().message,
            "no device \"ascend_910b\"; did you mean \"ascend_910a\"? (known: a100_sxm, a800_sxm, "
            "ascend_910a, ascend_910b1, ascend_910b2, ascend_910b3, ascend_910b4, ascend_910c, "
            "b200_sxm, cpu_ref, h100_sxm, h200_sxm, h20_sxm, l40s, rtx_4090, rtx_5090, tiny; or "
            "the path of a profile that ends in .json)");
}

TEST(Profile, LoadsAFileByItsPath) {
  const test::TempDir dir;
  Json json = text_of("h100_sxm");
  json["identity"]["name"] = "mine";
  json["matrix"]["efficiency"]["value"] = 0.5;
  ASSERT_TRUE(write_json(dir / "mine.json", json).has_value());
  const Result<DeviceProfile> loaded = load_profile((dir / "mine.json").string());
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_EQ(loaded->name(), "mine");
  EXPECT_EQ(loaded->matrix.efficiency.value, 0.5);
  EXPECT_FALSE(load_profile((dir / "absent.json").string()).has_value());
}

TEST(Profile, UnknownKeyIsAnError) {
  Json json = text_of("tiny");
  json["launch"]["host_dispach"] = json["launch"]["host_dispatch"];
  EXPECT_NE(error_of(json).find("host_dispach"), std::string::npos) << error_of(json);
  EXPECT_NE(error_of(json).find("host_dispatch"), std::string::npos) << error_of(json);
}

TEST(Profile, TypesThatDivideByZeroAreRefused) {
  for (const char* key : {"embedding_weight", "adam_moments"}) {
    Json json = text_of("h100_sxm");
    json["numerics"][key]["value"] = "fp16";
    EXPECT_NE(error_of(json).find(std::string("/numerics/") + key +
                                  "/value: in fp16 AdamW's epsilon of 1e-10"),
              std::string::npos)
        << error_of(json);
  }
  Json json = text_of("tiny");
  json["numerics"]["split_k"]["value"] = 2.5;
  EXPECT_EQ(error_of(json), "p.json: /numerics/split_k/value: 2.5 is not a number of parts");
}

TEST(Profile, EveryKeyIsNeeded) {
  const Json whole = text_of("h100_sxm");
  ASSERT_EQ(error_of(whole), "");
  for (const auto& [section, content] : whole.items()) {
    if (content.is_string()) continue;  // names of the layers
    Json json = whole;
    json.erase(section);
    const bool is_optional = section == "between_nodes";  // one node may be all that is known
    EXPECT_EQ(error_of(json).find(section) == std::string::npos, is_optional) << section;
    for (const auto& [key, entry] : content.items()) {
      json = whole;
      json[section].erase(key);
      if (key.ends_with("clock")) continue;  // where it is known
      EXPECT_NE(error_of(json).find(key), std::string::npos) << section << "/" << key;
      if (!entry.is_object()) continue;
      for (const auto& [part, value] : entry.items()) {
        if (section == "matrix" && key == "peak") continue;  // a machine need not have every type
        json = whole;
        json[section][key].erase(part);
        EXPECT_NE(error_of(json), "") << section << "/" << key << "/" << part;
      }
    }
  }
}

TEST(Profile, AnotherUnitIsAnError) {
  Json json = text_of("tiny");
  json["memory"]["main"]["bandwidth"]["unit"] = "TB/s";
  const std::string error = error_of(json);
  EXPECT_NE(error.find("/memory/main/bandwidth/unit"), std::string::npos) << error;
  EXPECT_NE(error.find("GB/s"), std::string::npos) << error;
}

TEST(Profile, ASourceMustSaySomething) {
  for (const char* source : {"", "  ", "estimate", "estimate: ", "assumed:"}) {
    Json json = text_of("tiny");
    json["links"]["latency"]["source"] = source;
    EXPECT_NE(error_of(json).find("/links/latency/source"), std::string::npos) << source;
  }
  EXPECT_EQ(source_problem("estimate: half a launch"), "");
  EXPECT_EQ(source_problem("estimated by hand"), "says estimate without why (\"estimate: why\")");
}

TEST(Profile, WhatTheMachineCannotDoIsAnError) {
  Json json = text_of("h100_sxm");
  json["matrix"]["peak"].erase("bf16");
  EXPECT_NE(error_of(json).find("the matrix unit of h100_sxm has no bf16"), std::string::npos);
  json = text_of("h100_sxm");
  json["software"]["fused_operators"]["value"] = {"atention"};
  EXPECT_NE(error_of(json).find("did you mean \"attention\""), std::string::npos) << error_of(json);
  json = text_of("h100_sxm");
  json["matrix"]["efficiency"]["value"] = 1.2;
  EXPECT_NE(error_of(json).find("/matrix/efficiency"), std::string::npos);
  json = text_of("h100_sxm");
  json["matrix"]["attention_exchange"]["value"] = 12;
  EXPECT_NE(error_of(json).find("stands beside an attention_exchange"), std::string::npos);
  json["matrix"].erase("attention_backward_efficiency");
  EXPECT_EQ(error_of(json), "");
  json = text_of("h100_sxm");
  json["numerics"]["accumulation"]["value"] = "host_blas";
  EXPECT_NE(error_of(json).find("host_blas multiplies in fp32 only"), std::string::npos);
  json = text_of("h100_sxm");
  json["numerics"]["loss_scaling"]["value"] = "always";
  EXPECT_NE(error_of(json).find("/numerics/loss_scaling"), std::string::npos);
}

// LlamaFactory#5491: torch_npu prints 60.97 GiB of a 64 GB card; HCCL takes 2 × 200 MB a
// communicator.
TEST(Profile, BudgetTakesCommunicatorBuffersOnlyWithPeers) {
  const DeviceProfile p = test::profile("ascend_910b3");
  EXPECT_EQ(p.memory_budget(1).capacity_bytes, static_cast<std::uint64_t>(60.97 * 1073741824.0));
  EXPECT_EQ(p.memory_budget(8).reserve_bytes - p.memory_budget(1).reserve_bytes, 400u << 20);
  EXPECT_EQ(p.allocator_rules().padding_bytes, 32u);
  EXPECT_EQ(test::profile("h100_sxm").allocator_rules().padding_bytes, 0u);
}

TEST(Profile, CalibrationNamesExistingEntries) {
  for (const std::string& name : profile_names()) {
    const Json json = text_of(name);
    for (const std::string& pointer : test::profile(name).calibration.fitted) {
      EXPECT_TRUE(json.contains(Json::json_pointer(pointer))) << name << " " << pointer;
    }
  }
}

}  // namespace
}  // namespace nb
