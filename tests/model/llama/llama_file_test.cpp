#include "model/llama/llama_file.hpp"

#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

const fs::path kGolden = fs::path(NB_SOURCE_DIR) / "tests" / "golden" / "llama_parity.bin";

std::string bytes_of_golden() { return read_file(kGolden).value(); }
std::string error_of(const std::string& bytes) {
  const auto file = parse_llama_file(bytes, "model.bin");
  return file ? "" : file.error().message;
}
std::string with_word(std::string bytes, std::size_t index, unsigned char lowest) {
  bytes[4 * index] = static_cast<char>(lowest);
  return bytes;
}

TEST(LlamaFile, HeaderAndRunsAreReadInFileOrder) {
  const auto file = read_llama_file(kGolden);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->config, (LlamaConfig{16, 24, 2, 4, 2, 20, 12, false}));
  const LlamaWeights weights = file->weights();
  EXPECT_EQ(weights.embedding.size(), 20u * 16);
  ASSERT_EQ(weights.layers.size(), 2u);
  EXPECT_EQ(weights.layers[1].wk.size(), 8u * 16);
  EXPECT_EQ(weights.layers[0].norm_attention.data(), weights.embedding.data() + 20 * 16);
  EXPECT_EQ(weights.layers[1].wq.data(), weights.layers[0].wq.data() + 16 * 16);
  EXPECT_EQ(weights.output.data() + weights.output.size(),
            file->values.data() + file->values.size());
}

TEST(LlamaFile, IsKnownByItsSizes) {
  EXPECT_TRUE(is_llama_file(kGolden));
  EXPECT_FALSE(is_llama_file(fs::path(NB_SOURCE_DIR) / "README.md"));
  EXPECT_FALSE(is_llama_file("no such file"));
  const test::TempDir folder;
  ASSERT_TRUE(write_file(folder / "cut.bin", bytes_of_golden().substr(0, 1000)));
  EXPECT_TRUE(is_llama_file(folder / "cut.bin"));  // or it would be called a broken safetensors
}

TEST(LlamaFile, BadFilesAreNamed) {
  const std::string whole = bytes_of_golden();
  EXPECT_NE(error_of("").find("model.bin: 0 bytes"), std::string::npos);
  EXPECT_NE(error_of(whole.substr(0, whole.size() - 4)).find("copy it again"), std::string::npos);
  EXPECT_NE(error_of(whole + "x").find("copy it again"), std::string::npos);
  EXPECT_NE(error_of(with_word(whole, 3, 0)).find("n_heads at byte 12 is 0"), std::string::npos);
  EXPECT_NE(error_of(with_word(whole, 4, 3)).find("do not divide"), std::string::npos);
  EXPECT_NE(error_of("ak42" + whole.substr(4)).find("export it with version 0"), std::string::npos);
}

}  // namespace
}  // namespace nb
