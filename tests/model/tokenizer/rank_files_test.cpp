// Every text file under every public vocabulary: digests of an independent encoder
// (tests/golden/rank_files.py), and back.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/json_io.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "tests/support/data_dir.hpp"

namespace nb {
namespace {

std::vector<std::string> text_files() {
  std::vector<std::string> paths;
  const fs::path root = test::data_dir();
  for (const auto& entry : fs::recursive_directory_iterator(root / "text"))
    if (entry.is_regular_file()) paths.push_back(fs::relative(entry.path(), root).string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

void update(Sha256& digest, const std::vector<int>& ids) {
  std::string bytes;
  bytes.reserve(ids.size() * 4);
  for (const int id : ids)
    for (int shift = 0; shift < 32; shift += 8)
      bytes += static_cast<char>(static_cast<unsigned char>(static_cast<unsigned>(id) >> shift));
  digest.update(bytes);
}

class RankFiles : public testing::TestWithParam<std::string> {};

TEST_P(RankFiles, AllTextsAsTheReferenceAndBack) {
  NB_NEEDS_DATA();
  const std::string& name = GetParam();
  const Json golden =
      read_json(fs::path(NB_SOURCE_DIR) / "tests" / "golden" / "rank_files.json").value();
  const Json& expected = golden[name == "gpt2" ? "r50k_base" : name];
  const fs::path folder = test::data_dir() / "tokenizers";
  const auto tokenizer = Tokenizer::load(
      name == "gpt2" ? folder / "gpt2" : folder / "tiktoken" / (name + ".tiktoken"));
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  Sha256 digest;
  std::size_t size = 0, tokens = 0;
  for (const std::string& path : text_files()) {
    const std::string text = read_file(test::data_dir() / path).value();
    const std::vector<int> ids = tokenizer->encode(text);
    EXPECT_TRUE(tokenizer->decode_bytes(ids) == text) << path;
    size += text.size();
    tokens += ids.size();
    update(digest, ids);
  }
  EXPECT_EQ(size, expected["bytes"].get<std::size_t>());
  EXPECT_EQ(tokens, expected["tokens"].get<std::size_t>());
  EXPECT_EQ(digest.hex(), expected["sha256"].get<std::string>());
}
INSTANTIATE_TEST_SUITE_P(Public, RankFiles,
                         testing::Values("gpt2", "r50k_base", "p50k_base", "cl100k_base",
                                         "o200k_base"));

}  // namespace
}  // namespace nb
