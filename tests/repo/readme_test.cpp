// Every path, verb, flag, script and preset that a README names exists.

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <sstream>

#include "harness/base/fs.hpp"
#include "harness/base/subprocess.hpp"
#include "tests/repo/readme_commands.hpp"
#include "tests/repo/source_tree.hpp"

namespace nb::test {
namespace {

Project this_project() {
  const fs::path root = NB_SOURCE_DIR;
  return {.exists = [root](const std::string& path) { return fs::exists(root / path); },
          .text_of = [root](const std::string& path) { return read_file(root / path).value(); },
          .help_of =
              [known = std::map<std::string, std::string>()](const std::string& verb) mutable {
                const auto [help, is_new] = known.try_emplace(verb);
                if (is_new) {
                  std::vector<std::string> argv = {NB_BINARY_DIR "/npubench"};
                  std::istringstream words(verb);
                  for (std::string word; words >> word;) argv.push_back(word);
                  argv.emplace_back("--help");
                  help->second = run_subprocess(argv).value().out;
                }
                return help->second;
              }};
}

Project small_project() {
  return {.exists =
              [](const std::string& path) {
                return path == "evals" || path == "evals/core.cpp" || path == "tests/check.sh" ||
                       path == "suites/smoke.json" || path == "evals/data";
              },
          .text_of =
              [](const std::string& path) {
                return path == "CMakePresets.json" ? "{ \"name\": \"release\" }" : "--asan) x ;;";
              },
          .help_of =
              [](const std::string& verb) {
                return verb.empty()     ? "Verbs:\n  run  run a suite\n  gate  judge\n --version"
                       : verb == "run"  ? "  --threads INT"
                       : verb == "gate" ? "Commands:\n  check  judge\n  accept  take\n\n"
                                          "Without a command: check."
                       : verb == "gate check" ? "  --strict"
                                              : "  --why REASON";
              }};
}

TEST(Readme, WhatTheReadmesNameExists) {
  std::vector<std::string> problems;
  constexpr std::array<std::string_view, 1> kEndings = {".md"};
  std::vector<SourceFile> files = source_files(kEndings);
  if (const auto root = read_file(fs::path(NB_SOURCE_DIR) / "README.md"); root)
    files.push_back({"README.md", *root});
  else
    problems.push_back(root.error().message);
  const Project project = this_project();
  ASSERT_FALSE(project.help_of("").empty()) << NB_BINARY_DIR "/npubench --help says nothing";
  for (const SourceFile& file : files)
    for (const std::string& problem : readme_problems(file.path, file.text, project))
      problems.push_back(problem);
  EXPECT_TRUE(problems.empty()) << lines(problems);
}

// Commands of the examples for schedulers, as the lines of a code block.
std::string scheduler_commands() {
  constexpr std::string_view kProgram = "build/release/npubench ";
  std::string block = "```\n";
  for (const char* file : {"crontab", "github-actions.yml", "gitlab-ci.yml"}) {
    const std::string text = read_file(fs::path(NB_SOURCE_DIR) / "harness/ci" / file).value();
    for (std::size_t at = text.find(kProgram); at != text.npos; at = text.find(kProgram, at + 1))
      block += text.substr(at, text.find('\n', at) - at) + "\n";
  }
  return block + "```\n";
}

// The examples accepted a night by copying it, which nothing ever removed.
TEST(Readme, WhatTheExamplesForSchedulersCallExists) {
  const std::string commands = scheduler_commands();
  const auto problems = readme_problems("harness/ci/README.md", commands, this_project());
  EXPECT_TRUE(problems.empty()) << lines(problems);
  const auto count_of = [&](std::string_view words) {
    int count = 0;
    for (std::size_t at = commands.find(words); at != commands.npos;
         at = commands.find(words, at + 1))
      ++count;
    return count;
  };
  EXPECT_EQ(count_of("npubench nightly "), 4) << commands;
  EXPECT_EQ(count_of("npubench gate accept "), 2) << commands;
}

TEST(Readme, WhatExistsIsNoProblem) {
  const auto problems = readme_problems("evals/README.md", R"(
The file `core.cpp` (`evals/core.cpp`), task `mw/facts`, output `record.json`, `tok/s`, `results/runs/x`, `results/nights`.
`npubench run F --threads 2`, `npubench gate accept R --why W`, `npubench gate R --strict`, `npubench VERB --help`, `bash tests/check.sh --asan`
```sh
$ NPUBENCH_SIMD=avx2 build/release/npubench run suites/smoke.json \
    --threads 1 | tail -1   # --other
cmake --preset release && cmake --build build/release
evals/no/such/file is output here
```
)",
                                        small_project());
  EXPECT_TRUE(problems.empty()) << lines(problems);
}

TEST(Readme, WhatDoesNotExistIsNamed) {
  const std::vector<std::pair<std::string, std::string>> broken = {
      {"`evals/gone.cpp`", "there is no evals/gone.cpp"},
      {"`gone.cpp`", "there is no gone.cpp"},
      {"`data/gone.json`", "there is no data/gone.json"},
      {"`npubench train x`", "npubench has no verb \"train\""},
      {"`npubench gate accept x --strict`", "npubench gate knows no --strict"},
      {"`npubench gate x --why y`", "npubench gate knows no --why"},
      {"`npubench run x --thread 2`", "npubench run knows no --thread"},
      {"`npubench --verbose`", "npubench --verbose knows no --verbose"},
      {"```\nbuild/release/npubench run suites/gone.json\n```", "there is no suites/gone.json"},
      {"`bash tests/gone.sh`", "there is no script tests/gone.sh"},
      {"`bash tests/check.sh --msan`", "tests/check.sh knows no --msan"},
      {"`cmake --preset fast`", "CMakePresets.json has no preset \"fast\""}};
  for (const auto& [text, problem] : broken) {
    const auto problems = readme_problems("evals/README.md", "\n" + text, small_project());
    ASSERT_FALSE(problems.empty()) << text;
    EXPECT_NE(problems[0].find(problem), std::string::npos) << problems[0];
    EXPECT_EQ(problems[0].substr(0, 16), "evals/README.md:");
  }
}

}  // namespace
}  // namespace nb::test
