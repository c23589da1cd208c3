#include "harness/plan/text_sources.hpp"

#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "tests/support/data_dir.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

TEST(TextSources, OwnFolderIsReadSortedAndHashed) {
  const test::TempDir data;
  ASSERT_TRUE(write_file(data / "mine/b.txt", "two"));
  ASSERT_TRUE(write_file(data / "mine/a.jsonl", "{\"text\": \"one\"}\n"));
  ASSERT_TRUE(write_file(data / "mine/notes.md", "no text to learn from"));
  const std::string sources[] = {"mine"};
  const auto files = find_text_files(sources, data.path(), "s.json");
  ASSERT_TRUE(files) << files.error().message;
  ASSERT_EQ(files->size(), 2u);
  EXPECT_EQ((*files)[0].name, "mine/a.jsonl");
  EXPECT_EQ((*files)[1].digest, sha256_hex("two"));
  EXPECT_TRUE(check_text_files(*files, data.path()));
  ASSERT_TRUE(write_file(data / "mine/b.txt", "three"));
  EXPECT_FALSE(check_text_files(*files, data.path()));
}

// The stage that reads it found out, when a run had begun.
TEST(TextSources, AFileThatIsNoTextIsFoundInThePlan) {
  const test::TempDir data;
  ASSERT_TRUE(write_file(data / "book.pdf", "%PDF"));
  const std::string sources[] = {"book.pdf"};
  const auto files = find_text_files(sources, data.path(), "s.json");
  ASSERT_FALSE(files.has_value());
  EXPECT_EQ(files.error().message,
            (data / "book.pdf").string() + ": documents are read from .txt and .jsonl files");
}

TEST(TextSources, APathThatTheShellWouldFindSaysWhatIsMissing) {
  const test::TempDir data;
  const std::string sources[] = {"tests"};
  const auto files = find_text_files(sources, data.path(), "s.json");
  ASSERT_FALSE(files.has_value());
  EXPECT_NE(files.error().message.find("it is in the current folder: give its absolute path"),
            std::string::npos)
      << files.error().message;
}

TEST(TextSources, GroupOfTheManifestNeedsNoFilesToBeNamed) {
  const std::string sources[] = {"text/english_novels"};
  const auto files = find_text_files(sources, "/nowhere", "s.json");
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->size(), 14u);
  const auto missing = check_text_files(*files, "/nowhere");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kBadInput);
}

TEST(TextSources, CutFileIsFoundByItsChecksum) {
  NB_NEEDS_DATA();
  const std::string sources[] = {"text/english_novels"};
  const auto files = find_text_files(sources, test::data_dir(), "s.json");
  ASSERT_TRUE(files);
  EXPECT_TRUE(check_text_files(*files, test::data_dir()));

  const test::TempDir copy;
  for (const TextFile& file : *files) {
    const auto text = read_file(file.path);
    ASSERT_TRUE(text);
    const fs::path to = copy.path() / file.path.lexically_relative(test::data_dir());
    ASSERT_TRUE(write_file(
        to,
        text->substr(0, text->size() - (file.name.find("Hound") != std::string::npos ? 1 : 0))));
  }
  const auto cut = check_text_files(*find_text_files(sources, copy.path(), "s.json"), copy.path());
  ASSERT_FALSE(cut);
  EXPECT_NE(cut.error().message.find("Hound"), std::string::npos) << cut.error().message;
}

}  // namespace
}  // namespace nb
