// Public vocabularies and the vectors that llama.cpp publishes for GPT-2's.
#include <gtest/gtest.h>

#include <sstream>

#include "harness/base/fs.hpp"
#include "model/tokenizer/train_tokenizer.hpp"
#include "tests/model/tokenizer/tokenizer_support.hpp"
#include "tests/support/data_dir.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

std::filesystem::path vocabularies() { return test::data_dir() / "tokenizers"; }

Tokenizer load(const std::string& name) {
  auto tokenizer = Tokenizer::load(vocabularies() / name);
  EXPECT_TRUE(tokenizer) << (tokenizer ? "" : tokenizer.error().message);
  return std::move(tokenizer).value();
}

std::vector<std::string> llama_cpp_texts() {
  const std::string all = *read_file(vocabularies() / "llama_cpp/ggml-vocab-gpt-2.gguf.inp");
  const std::string mark = "\n__ggml_vocab_test__\n";
  std::vector<std::string> texts;
  std::size_t begin = 0;
  for (std::size_t end; (end = all.find(mark, begin)) != std::string::npos;
       begin = end + mark.size())
    texts.push_back(all.substr(begin, end - begin));
  return texts;
}

std::vector<std::vector<int>> llama_cpp_ids() {
  std::istringstream lines(*read_file(vocabularies() / "llama_cpp/ggml-vocab-gpt-2.gguf.out"));
  std::vector<std::vector<int>> rows;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream numbers(line);
    rows.emplace_back();
    for (int id; numbers >> id;) rows.back().push_back(id);
  }
  return rows;
}

TEST(PublicVocabularies, Gpt2PassesTheVectorsOfLlamaCpp) {
  NB_NEEDS_DATA();
  const std::vector<std::string> texts = llama_cpp_texts();
  const std::vector<std::vector<int>> ids = llama_cpp_ids();
  ASSERT_EQ(texts.size(), 46U);
  ASSERT_EQ(ids.size(), texts.size());
  for (const char* file :
       {"gpt2", "gpt2/encoder.json", "gpt2/vocab.bpe", "tiktoken/r50k_base.tiktoken"}) {
    const Tokenizer tokenizer = load(file);
    for (std::size_t i = 0; i < texts.size(); ++i)
      EXPECT_EQ(tokenizer.encode(texts[i]), ids[i]) << file << ", text " << i << ": " << texts[i];
  }
}

TEST(PublicVocabularies, Gpt2FilesAndR50kAreOneVocabulary) {
  NB_NEEDS_DATA();
  const Tokenizer gpt2 = load("gpt2");
  EXPECT_EQ(gpt2.hash(), load("tiktoken/r50k_base.tiktoken").hash());
  EXPECT_EQ(gpt2.vocab_size(), 50257);
  EXPECT_EQ(gpt2.bos(), 50256);
}

TEST(PublicVocabularies, SizesAndSpecialsAreThePublishedOnes) {
  NB_NEEDS_DATA();
  const Tokenizer cl100k = load("tiktoken/cl100k_base.tiktoken");
  EXPECT_EQ(cl100k.vocab_size(), 100277);
  EXPECT_EQ(cl100k.special("<|endofprompt|>"), 100276);
  // tiktoken's README: cl100k_base encodes "hello world" as 15339 1917; "tiktoken is great!" has 6
  // tokens.
  EXPECT_EQ(cl100k.encode("hello world"), (std::vector<int>{15339, 1917}));
  EXPECT_EQ(cl100k.encode("tiktoken is great!"), (std::vector<int>{83, 1609, 5963, 374, 2294, 0}));
  const Tokenizer o200k = load("tiktoken/o200k_base.tiktoken");
  EXPECT_EQ(o200k.vocab_size(), 200019);
  EXPECT_EQ(o200k.encode("hello world"), (std::vector<int>{24912, 2375}));
  const Tokenizer p50k = load("tiktoken/p50k_base.tiktoken");
  EXPECT_EQ(p50k.vocab_size(), 50281);
  EXPECT_EQ(p50k.encode("hello world"), (std::vector<int>{31373, 995}));
}

TEST(PublicVocabularies, EncodeBooksAsTheDefinitionDoes) {
  NB_NEEDS_DATA();
  std::string text = *read_file(test::data_dir() / "text/tinyshakespeare/input.txt");
  text.resize(20'000);
  for (const char* file : {"gpt2", "tiktoken/cl100k_base.tiktoken"}) {
    const Tokenizer tokenizer = load(file);
    const std::vector<int> ids = tokenizer.encode(text);
    EXPECT_EQ(ids, test::naive_encode(tokenizer.vocabulary(), text)) << file;
    EXPECT_EQ(tokenizer.decode_bytes(ids), text);
  }
}

TEST(PublicVocabularies, ACutGpt2FileIsNamed) {
  NB_NEEDS_DATA();
  const std::string encoder = *read_file(vocabularies() / "gpt2/encoder.json");
  const std::string merges = *read_file(vocabularies() / "gpt2/vocab.bpe");
  const test::TempDir folder;
  const auto error = [&](const std::string& encoder_text, const std::string& merges_text) {
    EXPECT_TRUE(write_file(folder / "encoder.json", encoder_text));
    EXPECT_TRUE(write_file(folder / "vocab.bpe", merges_text));
    const auto tokenizer = Tokenizer::load(folder.path());
    return tokenizer ? std::string() : tokenizer.error().message;
  };
  EXPECT_NE(error(encoder.substr(0, 5000), merges).find("encoder.json"), std::string::npos);
  EXPECT_NE(error(encoder, merges.substr(0, 5000)).find("is the file truncated?"),
            std::string::npos);
  EXPECT_NE(error(encoder, merges + "zz zz\n").find("which"), std::string::npos);
  EXPECT_NE(error(encoder, merges + "\xC4\xA0 t\n").find("each merge appearing once"),
            std::string::npos);
}

TEST(PublicVocabularies, TrainsOnFourteenNovels) {
  NB_NEEDS_DATA();
  std::vector<std::string> novels;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::data_dir() / "text/english_novels"))
    if (entry.path().extension() == ".txt") novels.push_back(*read_file(entry.path()));
  ASSERT_EQ(novels.size(), 14U);
  TokenizerSettings settings;
  settings.doc_cap = 10'000'000;
  const auto tokenizer = train_tokenizer(novels, settings);
  ASSERT_TRUE(tokenizer);
  std::size_t bytes = 0, tokens = 0;
  for (const std::string& novel : novels) {
    const std::vector<int> ids = tokenizer->encode(novel);
    EXPECT_EQ(tokenizer->decode_bytes(ids), novel);
    bytes += novel.size();
    tokens += ids.size();
  }
  EXPECT_GT(static_cast<double>(bytes) / static_cast<double>(tokens), 3.0);
}

}  // namespace
}  // namespace nb
