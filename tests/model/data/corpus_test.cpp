#include "model/data/corpus.hpp"

#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "harness/base/rng.hpp"
#include "tests/support/data_dir.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

using Texts = std::vector<std::string>;

#define EXPECT_SAYS(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

Documents numbered(int count) {
  Documents documents;
  for (int i = 0; i < count; ++i) documents.texts.push_back(std::to_string(i));
  return documents;
}

TEST(CutText, GroupsParagraphsUntilTheyAreLongEnough) {
  EXPECT_EQ(cut_text("aa\n\nbb\n\n\ncc\n \t\ndd\n", 4), (Texts{"aa\n\nbb", "cc\n\ndd"}));
  EXPECT_EQ(cut_text("aaaa\n\nb\n\nc", 4), (Texts{"aaaa", "b\n\nc"}));
  EXPECT_EQ(cut_text("one\ntwo", 6), Texts{"one\ntwo"});
}

TEST(CutText, CountsCodePointsNotBytes) {
  EXPECT_EQ(cut_text("éé\n\néé\n\nx", 4), (Texts{"éé\n\néé", "x"}));
}

TEST(CutText, CutsLongParagraphsAtLineEndsOnly) {
  EXPECT_EQ(cut_text("aa\nbb\ncc\ndd\nee", 4), (Texts{"aa\nbb", "cc\ndd", "ee"}));
  EXPECT_EQ(cut_text("x\n\naaaaaaaaaaaa\nb\n\ny", 4), (Texts{"x", "aaaaaaaaaaaa", "b", "y"}));
}

TEST(CutText, HasNothingToCutInWhiteSpace) {
  EXPECT_TRUE(cut_text("", 4).empty());
  EXPECT_TRUE(cut_text(" \n\n\t\n", 4).empty());
}

TEST(Corpus, DropsByteOrderMarkAndCarriageReturns) {
  const auto documents = parse_text_documents("\xEF\xBB\xBFone\r\ntwo\r\n\r\nthree\r", "a.txt", 1);
  ASSERT_TRUE(documents);
  EXPECT_EQ(documents->texts, (Texts{"one", "two", "three\r"}));
}

TEST(Corpus, ReadsJsonlExactly) {
  const auto documents = parse_jsonl_documents(
      "\xEF\xBB\xBF{\"text\":\"a\\r\\nb\",\"id\":3}\r\n\n{\"text\":\" "
      "\\n\"}\n{\"text\":\"\\u00e9\"}",
      "a.jsonl");
  ASSERT_TRUE(documents) << documents.error().message;
  EXPECT_EQ(documents->texts, (Texts{"a\r\nb", "é"}));
  EXPECT_EQ(documents->dropped_empty, 1);
  EXPECT_EQ(documents->text_bytes, 6U);
}

TEST(Corpus, NamesInvalidUtf8WithLineAndByte) {
  const auto text = parse_text_documents("good\nbad \xE9t\xE9\n", "latin1.txt", 10);
  ASSERT_FALSE(text);
  EXPECT_SAYS(text.error().message, "latin1.txt:2: byte 9 of the file (0xe9)");
  const auto jsonl = parse_jsonl_documents("{\"text\":\"\xFF\"}", "b.jsonl");
  ASSERT_FALSE(jsonl);
  EXPECT_SAYS(jsonl.error().message, "b.jsonl:1: byte 9");
}

TEST(Corpus, NamesTheLineOfBadJson) {
  for (const char* bad : {"{\"text\":\"a\"", "{\"body\":\"a\"}", "{\"text\":7}", "[1]", "\"text\"",
                          "{\"text\":\"\\ud800\"}"}) {
    const auto documents =
        parse_jsonl_documents(std::string("{\"text\":\"x\"}\n") + bad + "\n", "c.jsonl");
    ASSERT_FALSE(documents) << bad;
    EXPECT_SAYS(documents.error().message, "c.jsonl:2");
  }
}

TEST(Corpus, BadJsonIsNamedByTheColumnOfItsLine) {
  const auto documents = parse_jsonl_documents("{\"text\":\"x\"}\n{\"text\": nul}\n", "c.jsonl");
  ASSERT_FALSE(documents);
  EXPECT_SAYS(documents.error().message, "c.jsonl:2:13: syntax error");
}

TEST(Corpus, ReadsAFolderInTheOrderOfItsPaths) {
  const test::TempDir folder;
  ASSERT_TRUE(write_file(folder / "b.txt", "b"));
  ASSERT_TRUE(write_file(folder / "a" / "z.jsonl", "{\"text\":\"az\"}\n"));
  ASSERT_TRUE(write_file(folder / "B.txt", "B"));
  ASSERT_TRUE(write_file(folder / "README.md", "not a document"));
  const auto documents = read_documents(folder.path(), 100);
  ASSERT_TRUE(documents) << documents.error().message;
  EXPECT_EQ(documents->texts, (Texts{"B", "az", "b"}));
}

TEST(Corpus, NamesWhatItCannotRead) {
  const test::TempDir folder;
  EXPECT_SAYS(read_documents(folder.path(), 10).error().message, "no .txt or .jsonl file");
  EXPECT_SAYS(read_documents(folder / "x.parquet", 10).error().message, ".txt and .jsonl");
  EXPECT_SAYS(read_documents(folder / "none.txt", 10).error().message, "none.txt");
  ASSERT_TRUE(write_file(folder / "empty.txt", "\n \n"));
  EXPECT_SAYS(read_documents(folder.path(), 10).error().message, "no document with text in 1 file");
}

TEST(Corpus, ShufflesAsPythonDoesAndSplitsOffTheLast) {
  // Python: l = list(range(10)); random.Random(1337).shuffle(l)
  CorpusSettings settings;
  settings.val_fraction = 0.3;
  const auto corpus = make_corpus(numbered(10), settings);
  ASSERT_TRUE(corpus);
  EXPECT_EQ(corpus->train, (Texts{"0", "3", "7", "2", "1", "6", "4"}));
  EXPECT_EQ(corpus->val, (Texts{"5", "8", "9"}));
  settings.shuffle = false;
  EXPECT_EQ(make_corpus(numbered(10), settings)->val, (Texts{"7", "8", "9"}));
}

TEST(Corpus, KeepsOneDocumentForValidationAtLeast) {
  CorpusSettings settings;
  settings.val_fraction = 0.001;
  EXPECT_EQ(make_corpus(numbered(10), settings)->val.size(), 1U);
  settings.val_fraction = 0;
  EXPECT_TRUE(make_corpus(numbered(10), settings)->val.empty());
  settings.val_fraction = 0.5;
  const auto none_left = make_corpus(numbered(1), settings);
  ASSERT_FALSE(none_left);
  EXPECT_SAYS(none_left.error().message, "none for training");
}

TEST(Corpus, HashKnowsWhereDocumentsEnd) {
  EXPECT_EQ(make_corpus({"a", "b"}, {"c"}).sha256, make_corpus({"a", "b"}, {"c"}).sha256);
  EXPECT_NE(make_corpus({"a", "b"}, {"c"}).sha256, make_corpus({"ab"}, {"c"}).sha256);
  EXPECT_NE(make_corpus({"a", "b"}, {"c"}).sha256, make_corpus({"a"}, {"b", "c"}).sha256);
}

TEST(Corpus, NovelsComeAsDocumentsOfBoundedSize) {
  NB_NEEDS_DATA();
  const auto documents = read_documents(test::data_dir() / "text/english_novels", 2'000);
  ASSERT_TRUE(documents) << documents.error().message;
  EXPECT_GT(documents->texts.size(), 2'000U);
  std::size_t longest = 0;
  for (const std::string& text : documents->texts) {
    longest = std::max(longest, text.size());
    EXPECT_EQ(text.find("\r\n"), std::string::npos);
  }
  EXPECT_LT(longest, 10'000U);
  const CorpusSettings settings;
  auto texts = read_documents(test::data_dir() / "text/openstax", settings.document_chars);
  ASSERT_TRUE(texts) << texts.error().message;
  const auto corpus = make_corpus(std::move(*texts), settings);
  ASSERT_TRUE(corpus) << corpus.error().message;
  EXPECT_EQ(corpus->train.size() + corpus->val.size(), 574U);  // rows in the data's README
}

TEST(Corpus, DamagedJsonlNeverCrashes) {
  const std::string good = "{\"text\":\"one\"}\n{\"text\":\"tw\\u00e9\",\"n\":[1,2.5,null]}\n";
  const Rng rng(3, "corpus/fuzz");
  for (std::uint64_t round = 0; round < 500; ++round) {
    std::string text = good;
    text[rng.below(2 * round, text.size())] =
        static_cast<char>(static_cast<unsigned char>(rng.below(2 * round + 1, 256)));
    const auto documents = parse_jsonl_documents(text, "f");
    if (!documents) {
      EXPECT_SAYS(documents.error().message, "f:");
    }
  }
}

}  // namespace
}  // namespace nb
