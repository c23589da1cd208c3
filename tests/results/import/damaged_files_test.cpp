// Real files, cut short, with other bytes and with other values in them: an error or a result,
// never a crash or an exception.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "harness/base/fs.hpp"
#include "results/import/formats.hpp"
#include "results/import/to_records.hpp"
#include "tests/results/import/expected.hpp"
#include "tests/support/data_dir.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

constexpr std::uintmax_t kLargest = 64 * 1024;
constexpr int kRounds = 12;

// Another value in place of one of the values, at any depth.
void replace_one(Json& json, std::mt19937_64& random) {
  static const std::vector<Json> kOthers = {nullptr,        true, 0,         -1,
                                            1e308,          "",   "NaN",     Json::array(),
                                            Json::object(), "1",  Json{{1}}, 18446744073709551615u};
  Json* at = &json;
  while (at->is_structured() && !at->empty() && random() % 5 != 0) {
    auto member = at->begin();
    std::advance(member, static_cast<std::ptrdiff_t>(random() % at->size()));
    at = &*member;
  }
  *at = kOthers[random() % kOthers.size()];
}

std::string damaged(const std::string& text, int round, std::mt19937_64& random) {
  if (round % 3 == 0) return text.substr(0, random() % text.size());
  if (round % 3 == 1) {
    std::string other = text;
    for (int i = 0; i < 3; ++i) other[random() % other.size()] = static_cast<char>(random());
    return other;
  }
  const std::size_t end = std::min(text.find('\n') + 1, text.size());
  auto whole = parse_json(text, "f");
  if (whole) {
    replace_one(*whole, random);
    return whole->dump();
  }
  auto line = parse_json(text.substr(0, end), "f");
  if (!line) return text.substr(text.size() / 2);
  replace_one(*line, random);
  return line->dump() + "\n" + text.substr(end);
}

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
      ASSERT_TRUE(write_file(path, damaged(*text, round, random)));
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

}  // namespace
}  // namespace nb
