// A published model end to end: the greedy text of stories260K, character by character.
#include <gtest/gtest.h>

#include <string>

#include "harness/base/fs.hpp"
#include "model/decoder/incremental.hpp"
#include "model/decoder/llama2c_file.hpp"
#include "model/device/device.hpp"
#include "model/engine/incremental_language_model.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "tests/support/data_dir.hpp"

namespace nb {
namespace {

// What stands between the command with "-t 0.0" and the end of its block.
std::string published_text(const fs::path& readme) {
  const std::string text = read_file(readme).value();
  const std::size_t command = text.find("-t 0.0\n");
  const std::size_t begin = text.find('\n', command) + 1;
  const std::size_t end = text.find("\n```", begin);
  EXPECT_NE(command, std::string::npos);
  EXPECT_NE(end, std::string::npos);
  return text.substr(begin, end - begin);
}

TEST(Stories260K, GreedyTextIsThePublishedOne) {
  NB_NEEDS_DATA();
  const fs::path folder = test::data_dir() / "models" / "stories260K";
  const auto file = read_llama2c_file(folder / "stories260K.bin");
  ASSERT_TRUE(file) << file.error().message;
  const auto tokenizer = Tokenizer::load(folder / "tok512.bin");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  for (const char* profile : {"cpu_ref", "ascend_910b3"}) {
    Device device(*load_profile(profile), ExecutionMode::kExecute);
    Decoder decoder(file->config, device);
    load_llama2c(*file, decoder);
    IncrementalDecoder incremental(decoder);
    IncrementalLanguageModel model(incremental, *tokenizer);
    // run.c makes 256 steps, the first of which reads <s>.
    const GenerateRequest request = {
        .prompt = {tokenizer->bos()}, .max_tokens = 256, .temperature = 0, .tools = false};
    const auto result = model.generate({&request, 1});
    std::vector<int> ids = {tokenizer->bos()};
    const std::vector<int>& sample = result.front().samples.front().tokens;
    ids.insert(ids.end(), sample.begin(), sample.end());
    const std::string text = tokenizer->decode(ids).substr(std::string("<s>").size());
    const std::string published = published_text(folder / "stories260K.md");
    if (std::string(profile) == "cpu_ref") {
      EXPECT_EQ(text, published);
    } else {  // bf16 may take another turn, but not at once
      EXPECT_EQ(text.substr(0, 60), published.substr(0, 60));
    }
  }
}

}  // namespace
}  // namespace nb
