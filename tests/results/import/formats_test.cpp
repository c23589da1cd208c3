#include "results/import/formats.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/results/import/expected.hpp"
#include "tests/support/data_dir.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

// Names of the formats that recognise a file.
std::vector<std::string> recognised_by(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(64 * 1024, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  const FileHead head{path, bytes, bytes.size() == fs::file_size(path)};
  std::vector<std::string> names;
  for (const ImportFormat& format : import_formats())
    if (format.recognises(head)) names.emplace_back(format.name);
  return names;
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

TEST(ImportFormats, NoRealFileIsKnownToTwoReaders) {
  NB_NEEDS_IMPORTS();
  for (const char* folder : {"imports", "nanochat_reports", "core", "reference"}) {
    if (!fs::exists(test::data_dir() / folder)) continue;
    for (const fs::path& path : files_below(test::data_dir() / folder)) {
      const auto names = recognised_by(path);
      EXPECT_LE(names.size(), 1u) << path << ": " << ::testing::PrintToString(names);
    }
  }
}

TEST(ImportFormats, FilesOfOtherKindsAreNotKnown) {
  NB_NEEDS_IMPORTS();
  for (const char* folder : {"ascend_profiler", "torch_profiler", "smi_and_collectives"})
    for (const fs::path& path : files_below(test::imports_dir() / folder))
      EXPECT_TRUE(recognised_by(path).empty()) << path << recognised_by(path).front();
}

TEST(ImportFormats, EveryRealFileOfTheHarnessIsKnownAndRead) {
  NB_NEEDS_IMPORTS();
  for (const fs::path& path : files_below(test::imports_dir() / "lm_eval")) {
    if (path.filename() == "LICENSE") continue;
    EXPECT_EQ(recognised_by(path).size(), 1u) << path;
    const auto results = read_foreign(path);
    ASSERT_TRUE(results) << results.error().message;
    EXPECT_EQ(results->runs.size(), 1u) << path;
  }
}

}  // namespace
}  // namespace nb
