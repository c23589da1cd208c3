#include "model/train/adapter_file.hpp"

#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "model/decoder/presets.hpp"
#include "tests/support/decoder_golden.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

struct OnDevice {
  explicit OnDevice(std::int64_t depth)
      : device(test::fp32_profile(), ExecutionMode::kExecute),
        decoder(preset_config("llama", depth, 40, 16).value(), device) {
    decoder.init(1);
  }
  std::vector<float> losses() {
    const test::GoldenTokens tokens = test::golden_tokens(0, 2, 16, 40, 0);
    return decoder.token_losses(tokens.inputs, tokens.targets, 2, 16);
  }
  Device device;
  Decoder decoder;
};

void change(std::vector<Parameter>& adapters) {
  for (std::size_t k = 0; k < adapters.size(); ++k) {
    const std::span<float> values = adapters[k].value.host();
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = test::golden_uniform(k + 1, i, 0.25F);
  }
}

TEST(AdapterFile, AdaptersThatWereSavedComputeTheSame) {
  const test::TempDir folder;
  OnDevice trained(2), fresh(2);
  const std::vector<float> base = trained.losses();
  trained.decoder.adapters().add({.rank = 3, .alpha = 5, .targets = {"attn.c_v", "mlp.c_gate"}}, 1);
  change(trained.decoder.adapters().parameters());
  ASSERT_TRUE(save_adapters(folder / "a.safetensors", trained.decoder));
  const auto file = SafetensorsFile::open(folder / "a.safetensors");
  ASSERT_TRUE(file) << file.error().message;
  const auto loaded = load_adapters(*file, fresh.decoder);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(fresh.decoder.adapters().settings(), trained.decoder.adapters().settings());
  EXPECT_EQ(fresh.losses(), trained.losses());
  EXPECT_NE(fresh.losses(), base);
  ASSERT_TRUE(save_adapters(folder / "b.safetensors", fresh.decoder));
  EXPECT_EQ(read_file(folder / "a.safetensors").value(),
            read_file(folder / "b.safetensors").value());
}

TEST(AdapterFile, ThoseOfAnotherModelAreRefusedAndNothingIsAdded) {
  const test::TempDir folder;
  OnDevice trained(2), deeper(3);
  trained.decoder.adapters().add({}, 1);
  ASSERT_TRUE(save_adapters(folder / "a.safetensors", trained.decoder));
  const auto file = SafetensorsFile::open(folder / "a.safetensors").value();
  const auto loaded = load_adapters(file, deeper.decoder);
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("adapters of another model"), std::string::npos);
  EXPECT_FALSE(deeper.decoder.adapters().settings());
  EXPECT_TRUE(deeper.decoder.adapters().parameters().empty());
}

TEST(AdapterFile, AFileWithoutAdaptersIsNamed) {
  const test::TempDir folder;
  SafetensorsWriter writer;
  const std::vector<float> one = {1};
  writer.add("x", DType::kFp32, {1}, one);
  ASSERT_TRUE(writer.write(folder / "x.safetensors"));
  OnDevice on(2);
  const auto loaded =
      load_adapters(SafetensorsFile::open(folder / "x.safetensors").value(), on.decoder);
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("holds no adapters"), std::string::npos);
}

}  // namespace
}  // namespace nb
