// Words that do not belong where they stand: documents that are not in the project, and the host's
// affairs in a model.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "tests/repo/source_tree.hpp"

namespace nb::test {
namespace {

namespace fs = std::filesystem;

// Documents that a source names and that are written by a run, or lie elsewhere.
constexpr std::array<std::string_view, 10> kElsewhere = {
    "report.md",             // what `npubench report` writes
    "report/report.md",      //
    "docs/gguf.md",          // ggml-org/ggml
    "docs/user_guide.md",    // google/benchmark
    "stories260K.md",        // karpathy/tinyllamas
    "core/derived/NOTE.md",  // of the data folder
    "docs/source_en/base_tutorials/results_intro/accuracy_metric.md",  // AISBench/benchmark
    "mine/notes.md",                                                   // a user's file in a test
    "HF32.md",                                                         // Huawei's documentation
    "x.md",
};

// A document must lie at that place of the project, or beside the source.
std::vector<std::string> citation_problems(const std::vector<SourceFile>& files) {
  static const std::regex kDocument(R"([A-Za-z_0-9/]+\.md\b)");
  std::vector<std::string> problems;
  for (const SourceFile& file : files) {
    for (std::sregex_iterator at(file.text.begin(), file.text.end(), kDocument), end; at != end;
         ++at) {
      const std::string named = at->str();
      // A literal of a test is a file that it writes, or what is said of it ("/t.md:3: …").
      const auto begin = static_cast<std::size_t>(at->position());
      if (file.path.starts_with("tests/") && begin > 0 && file.text[begin - 1] == '"') continue;
      const fs::path root = NB_SOURCE_DIR;
      if (std::ranges::find(kElsewhere, named) != kElsewhere.end() || fs::exists(root / named) ||
          fs::exists(root / fs::path(file.path).parent_path() / named))
        continue;
      problems.push_back(
          file.path + ":" +
          std::to_string(line_of(file.text, static_cast<std::size_t>(at->position()))) + ": " +
          named + " is not in the project");
    }
  }
  return problems;
}

TEST(Words, DocumentsThatSourcesCiteAreHere) {
  constexpr std::array<std::string_view, 5> kEndings = {".cpp", ".hpp", ".py", ".sh", ".cmake"};
  std::vector<SourceFile> files = source_files(kEndings);
  std::erase_if(files, [](const SourceFile& f) { return f.path == "tests/repo/words_test.cpp"; });
  const auto problems = citation_problems(files);
  EXPECT_TRUE(problems.empty()) << lines(problems);
}

TEST(Words, ADocumentThatIsNotHereIsNamed) {
  const auto problems = citation_problems(
      {{"model/x.hpp", "// see README.md\n// design.md \u00a76, model/ops/README.md"}});
  ASSERT_EQ(problems.size(), 1U) << lines(problems);
  EXPECT_EQ(problems[0], "model/x.hpp:2: design.md is not in the project");
}

// Fusion, order, formats and buffers belong to model/host; a model says what is computed.
TEST(Words, ModelsSayNothingOfTheHost) {
  constexpr std::array<std::string_view, 2> kEndings = {".cpp", ".hpp"};
  std::vector<std::string> problems;
  std::size_t seen = 0;
  for (const SourceFile& file : source_files(kEndings)) {
    if (!file.path.starts_with("model/decoder/")) continue;
    ++seen;
    const std::string code = code_only(file.text);
    for (const char* word : {"host::", "HostBuffer", "HostValues", "values_only", "SavedBlocks",
                             "Arithmetic", "bf16()", "kernels::matmul"})
      if (const auto at = code.find(word); at != code.npos)
        problems.push_back(file.path + ":" + std::to_string(line_of(code, at)) + ": " + word);
  }
  EXPECT_GE(seen, 8U);
  EXPECT_TRUE(problems.empty()) << lines(problems);
}

// What decided how the host computes, before model/host did.
TEST(Words, OnlyHostAndKernelsChooseBuffersAndOrder) {
  constexpr std::array<std::string_view, 2> kEndings = {".cpp", ".hpp"};
  static const std::regex kWords(
      R"(\bArithmetic::|\b(HostBuffer|drop_block|activation_buffer|form_of)\b)");
  std::vector<std::string> problems;
  for (const SourceFile& file : source_files(kEndings)) {
    if (!file.path.starts_with("model/") || file.path.starts_with("model/host/") ||
        file.path.starts_with("model/kernels/"))
      continue;
    for (std::sregex_iterator at(file.text.begin(), file.text.end(), kWords), end; at != end; ++at)
      problems.push_back(
          file.path + ":" +
          std::to_string(line_of(file.text, static_cast<std::size_t>(at->position()))) + ": " +
          at->str());
  }
  EXPECT_TRUE(problems.empty()) << lines(problems);
}

}  // namespace
}  // namespace nb::test
