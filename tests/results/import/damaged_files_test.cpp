// Real files, cut short, with other bytes and with other values in them: an error or a result,
// never a crash or an exception.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "harness/base/fs.hpp"
#include "results/import/any_foreign.hpp"
#include "results/import/formats.hpp"
#include "results/import/to_records.hpp"
#include "tests/results/import/expected.hpp"
#include "tests/results/import/foreign_text.hpp"
#include "tests/results/import/format_corpus.hpp"
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

// Tables as people paste them: cut, with other bytes, with lines and cells moved about.
constexpr const char* kPasted[] = {
    "hf (pretrained=a/b,dtype=auto), gen_kwargs: (None), limit: None, num_fewshot: 5, batch_size: "
    "1\n|Tasks|Version|Filter|n-shot|Metric|   |Value |   |Stderr|\n"
    "|-----|------:|------|-----:|------|---|-----:|---|-----:|\n"
    "|mmlu |      2|none  |     0|acc   |↑  |0.6812|±  |0.0037|\n"
    "| - stem|    2|none  |     0|acc   |↑  |0.5900|±  |0.0085|\n"
    "|  - law|    1|none  |     5|acc   |↑  |0.6444|±  |   N/A|\n",
    "20240814_101010\ntabulate format\n^^^^\ndataset  version  metric  mode  m\n-------  -------  "
    "------  ----  -----\ngsm8k    8e312c   score   gen   65.85\n$$$$\n\ncsv format\n^^^^\n"
    "dataset,version,metric,mode,m\ngsm8k,8e312c,score,gen,65.85 (7/8)\n$$$$\n",
    "┌───────┬─────────┬────────────┬────────┬─────┬───────┐\n"
    "│ Model │ Dataset │ Metric     │ Subset │ Num │ Score │\n"
    "├───────┼─────────┼────────────┼────────┼─────┼───────┤\n"
    "│ q     │ MMLU    │ Accuracy ↑ │ law    │  10 │ 30%   │\n"
    "├───────┼─────────┼────────────┼────────┼─────┼───────┤\n"
    "│ q     │ MMLU    │ Accuracy ↑ │ math   │  30 │ 50%   │\n"
    "└───────┴─────────┴────────────┴────────┴─────┴───────┘\n",
    "| Task | Metric | GPU | NPU | Diff |\n|---|---|---|---|---|\n| MMLU (5-shot) | acc | 71.2 ± "
    "0.4 "
    "| **70.9** | -0.3 |\n| ASR | WER (%) ↓ | 4.3 | 4.4 | |\n",
    "test_cases:\n  - name: \"a\"\n    model: \"org/m\"\n    benchmarks:\n      acc: &a\n        "
    "case_type: accuracy\n        dataset_conf: gsm8k/gen\n        baseline: 96\n        "
    "threshold: "
    "10\n      more:\n        <<: *a\n",
    "task,metric,value,n\nown,acc,0.5,100\nown,loss,2.5,\nMMLU,acc,71.2 %,14042\n",
    "{\"eval_loss\": 2.1, \"eval_accuracy\": 0.7, \"wer\": 0.1, \"own\": {\"a\": 1}, \"m\": "
    "\"x\"}"};

std::string with_moved_parts(std::string text, std::mt19937_64& random) {
  constexpr std::string_view kParts[] = {"|", "\n",     "±", "↑", "%", "- ",
                                         "│", "+--+\n", ":", ",", "0"};
  for (int i = 0; i < 4; ++i) {
    const std::size_t at = random() % text.size();
    switch (random() % 3) {
      case 0:
        text.insert(at, kParts[random() % std::size(kParts)]);
        break;
      case 1:
        text.insert(at, text.substr(random() % text.size(), random() % 60));
        break;
      default:
        text.erase(at, random() % 12);
        if (text.empty()) text = "|";
    }
  }
  return text;
}

TEST(DamagedFiles, PastedTablesAreErrorsOrResultsNeverCrashes) {
  constexpr int kTableRounds = 400;
  const test::TempDir folder;
  std::mt19937_64 random(29);
  int results = 0, errors = 0;
  for (const std::string text : kPasted)
    for (int round = 0; round < kTableRounds; ++round) {
      const fs::path path = folder / (text.starts_with("test_cases") ? "f.yaml" : "f.txt");
      ASSERT_TRUE(write_file(
          path, round % 2 == 0 ? with_moved_parts(text, random) : damaged(text, round, random)));
      SCOPED_TRACE(fmt::format("{}, round {}", text.substr(0, 20), round));
      EXPECT_NO_THROW({
        const auto read = read_any_foreign(path);
        if (read) records_of(*read);
        ++(read ? results : errors);
        EXPECT_TRUE(read || !read.error().message.empty());
      });
    }
  EXPECT_GT(results, 300);
  EXPECT_GT(errors, 300);
}

// Bytes, pieces and values changed, several times over.
std::string mutated(std::string text, std::mt19937_64& random) {
  constexpr std::string_view kPieces[] = {"{",  "}",     "[",       "]",    "\"",
                                          ",",  ":",     "\n",      "null", "NaN",
                                          "-1", "1e400", "\\u0000", "\xFF", "[[[[[[[["};
  for (std::uint64_t times = 1 + random() % 3; times > 0 && !text.empty(); --times) {
    const std::size_t at = random() % text.size();
    switch (random() % 6) {
      case 0:
        text.resize(at);
        break;
      case 1:
        text[at] = static_cast<char>(random());
        break;
      case 2:
        text.insert(at, kPieces[random() % std::size(kPieces)]);
        break;
      case 3:
        text.insert(at, text.substr(random() % text.size(), random() % 80));
        break;
      case 4:
        text.erase(at, 1 + random() % 20);
        break;
      default:
        text = damaged(text, 2, random);
    }
  }
  return text;
}

// NB_MUTATIONS=10000 for the long run.
int mutations() {
  const char* asked = std::getenv("NB_MUTATIONS");
  return asked == nullptr ? 60 : std::atoi(asked);
}

TEST(DamagedFiles, TheCorpusHasFilesOfTheFormatsThatItNames) {
  for (const test::CorpusFile& file : test::format_corpus()) {
    const auto read = test::read_texts({{file.name, file.bytes}});
    ASSERT_TRUE(read || read.error().message.ends_with("holds no scores"))
        << file.name << ": " << read.error().message;
    if (!read) continue;
    ASSERT_EQ(read->files.size(), 1u);
    EXPECT_EQ(read->files[0].format, file.format);
  }
}

TEST(DamagedFiles, MutationsOfEveryFormatAreErrorsOrResultsNeverCrashes) {
  const test::TempDir folder;
  int results = 0, errors = 0;
  for (const test::CorpusFile& file : test::format_corpus()) {
    std::mt19937_64 random(std::hash<std::string>()(file.name));
    for (int round = 0; round < mutations(); ++round) {
      const fs::path path = folder / file.name;
      fs::create_directories(path.parent_path());
      // Not write_file, which waits for the disk: ten thousand of each.
      std::ofstream(path, std::ios::binary) << mutated(file.bytes, random);
      SCOPED_TRACE(fmt::format("{} ({}), round {}", file.name, file.format, round));
      EXPECT_NO_THROW({
        const auto read = read_any_foreign(path);
        if (read) records_of(*read);
        ++(read ? results : errors);
        EXPECT_TRUE(read || !read.error().message.empty());
      });
    }
    fs::remove_all(folder / fs::path(file.name).begin()->string());
  }
  EXPECT_GT(results, 100);
  EXPECT_GT(errors, 100);
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
