// Real files, changed: an error or a result, never a crash or an exception. Small files of every
// format are changed by tests/fuzz.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "harness/base/fs.hpp"
#include "results/import/formats.hpp"
#include "results/import/to_records.hpp"
#include "tests/fuzz/mutator.hpp"
#include "tests/results/import/expected.hpp"
#include "tests/results/import/foreign_text.hpp"
#include "tests/results/import/format_corpus.hpp"
#include "tests/support/data_dir.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

constexpr std::uintmax_t kLargest = 64 * 1024;
constexpr int kRounds = 12;

TEST(DamagedFiles, AreErrorsOrResultsNeverCrashes) {
  NB_NEEDS_IMPORTS();
  const test::TempDir folder;
  std::mt19937_64 random(23);
  int results = 0, errors = 0;
  std::vector<fs::path> files;
  for (const char* below : {"imports", "core/dclm_evals"})
    for (const auto& entry : fs::recursive_directory_iterator(test::data_dir() / below))
      if (entry.is_regular_file() && entry.file_size() <= kLargest && read_foreign(entry.path()))
        files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto text = read_file(files[i]);
    ASSERT_TRUE(text);
    for (int round = 0; round < kRounds; ++round) {
      const fs::path path = folder / "m" / "f" / files[i].filename();
      ASSERT_TRUE(write_file(path, test::mutated(*text, random, 2 * kLargest)));
      SCOPED_TRACE(fmt::format("{}, round {}", files[i].string(), round));
      EXPECT_NO_THROW({
        const auto read = read_foreign(path);
        if (read) records_of(*read);
        ++(read ? results : errors);
        EXPECT_TRUE(read || !read.error().message.empty());
      });
      fs::remove(path);
    }
  }
  EXPECT_GT(results, 100);
  EXPECT_GT(errors, 100);
}

// What tests/fuzz changes.
TEST(DamagedFiles, TheCorpusHasAFileOfEveryFormat) {
  std::set<std::string> formats;
  for (const test::CorpusFile& file : test::format_corpus()) {
    formats.insert(file.format);
    const auto read = test::read_texts({{file.name, file.bytes}});
    ASSERT_TRUE(read || read.error().message.ends_with("holds no scores"))
        << file.name << ": " << read.error().message;
    if (!read) continue;
    ASSERT_EQ(read->files.size(), 1u);
    EXPECT_EQ(read->files[0].format, file.format);
  }
  for (const ImportFormat& format : import_formats())
    EXPECT_TRUE(formats.contains(format.name)) << format.name;
}

// lm-eval's results by their bare name: "cannot make absolute path" of the empty folder.
TEST(DamagedFiles, EveryFormatIsReadByItsBareName) {
  const fs::path here = fs::current_path();
  for (const test::CorpusFile& file : test::format_corpus()) {
    const test::TempDir dir;
    const fs::path path = dir.path() / file.name;
    fs::create_directories(path.parent_path());
    ASSERT_TRUE(write_file(path, file.bytes));
    const auto whole = read_any_foreign(path);
    fs::current_path(path.parent_path());
    const auto bare = read_any_foreign(path.filename());
    fs::current_path(here);
    ASSERT_EQ(bool(bare), bool(whole)) << file.format << ": " << (bare ? "" : bare.error().message);
    if (!whole) continue;  // it holds no scores
    EXPECT_EQ(bare->runs.size(), whole->runs.size()) << file.format;
  }
}

}  // namespace
}  // namespace nb
