#include "model/decoder/llama2c_file.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include "harness/base/fs.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

const fs::path kLlamaGolden = fs::path(NB_SOURCE_DIR) / "tests" / "golden" / "llama_parity.bin";

std::string bytes_of_golden() { return read_file(kLlamaGolden).value(); }
std::string error_of(const std::string& bytes) {
  const auto file = parse_llama2c_file(bytes, "model.bin");
  return file ? "" : file.error().message;
}
std::string with_word(std::string bytes, std::size_t index, unsigned char lowest) {
  bytes[4 * index] = static_cast<char>(lowest);
  return bytes;
}

TEST(Llama2cFile, HeaderAndRunsAreReadInFileOrder) {
  const auto file = read_llama2c_file(kLlamaGolden);
  ASSERT_TRUE(file) << file.error().message;
  const DecoderConfig& config = file->config;
  EXPECT_EQ(std::tuple(config.n_embd, config.hidden(), config.n_layer, config.n_head,
                       config.n_kv_head, config.vocab_size, config.sequence_len),
            std::tuple(16, 24, 2, 4, 2, 20, 12));
  EXPECT_FALSE(config.architecture.tied_head);
  Device device(*load_profile("cpu_ref"), ExecutionMode::kExecute);
  Decoder decoder(config, device);
  load_llama2c(*file, decoder);
  const auto begins_with = [&](const char* name, std::size_t at) {
    for (const Parameter& p : decoder.parameters())
      if (p.name == name) return p.value.host()[0] == file->values[at];
    return false;
  };
  EXPECT_TRUE(begins_with("transformer.wte.weight", 0));
  EXPECT_TRUE(begins_with("transformer.h.0.ln_1.weight", 20 * 16));
  const std::size_t wq = 20 * 16 + 2 * 16;
  EXPECT_TRUE(begins_with("transformer.h.1.attn.c_q.weight", wq + 16 * 16));
  EXPECT_TRUE(begins_with("transformer.h.1.attn.c_k.weight", wq + 2 * 16 * 16 + 8 * 16));
  EXPECT_TRUE(begins_with("lm_head.weight", file->values.size() - 20 * 16));
  EXPECT_EQ(decoder.parameters().back().value.host().back(), file->values.back());
}

TEST(Llama2cFile, IsKnownByItsSizes) {
  EXPECT_TRUE(is_llama2c_file(kLlamaGolden));
  EXPECT_FALSE(is_llama2c_file(fs::path(NB_SOURCE_DIR) / "README.md"));
  EXPECT_FALSE(is_llama2c_file("no such file"));
  const test::TempDir folder;
  ASSERT_TRUE(write_file(folder / "cut.bin", bytes_of_golden().substr(0, 1000)));
  EXPECT_TRUE(is_llama2c_file(folder / "cut.bin"));  // or it would be called a broken safetensors
}

TEST(Llama2cFile, BadFilesAreNamed) {
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
