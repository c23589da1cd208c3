#include "tests/e2e/bench.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "results/store/store.hpp"

namespace nb::test {

namespace {

std::vector<std::string> command(const std::vector<std::string>& arguments) {
#if defined(NB_EMULATOR)
  std::vector<std::string> argv{NB_EMULATOR, NB_BINARY_DIR "/npubench"};
#else
  std::vector<std::string> argv{NB_BINARY_DIR "/npubench"};
#endif
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

}  // namespace

SubprocessResult Bench::redirected(const std::string& redirection,
                                   const std::vector<std::string>& arguments) const {
  std::vector<std::string> argv{"bash", "-c", "exec \"$@\" " + redirection, "bash"};
  for (const std::string& word : command(arguments)) argv.push_back(word);
  auto result = run_subprocess(argv, {.environment = environment});
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : SubprocessResult{};
}

SubprocessResult Bench::operator()(std::vector<std::string> arguments,
                                   std::chrono::milliseconds limit) const {
  const std::vector<std::string> argv = command(arguments);
  SubprocessOptions options;
  options.time_limit = limit;
  options.environment = environment;
  auto result = run_subprocess(argv, options);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : SubprocessResult{};
}

SubprocessResult Bench::run(const std::string& suite, std::vector<std::string> more,
                            std::chrono::milliseconds limit) const {
  std::vector<std::string> arguments{"run", suite, "--results-dir", results().string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return (*this)(arguments, limit);
}

SubprocessResult Bench::train(std::vector<std::string> more) const {
  const std::pair<const char*, std::string> options[] = {
      {"--depth", "1"},
      {"--sequence-len", "32"},
      {"--device-batch", "2"},
      {"--total-batch-tokens", "128"},
      {"--steps", "4"},
      {"--eval-tokens", "128"},
      {"--vocab-size", "320"},
      {"--set", "/corpus/microworld/documents=120"},
      {"--set", "/corpus/microworld/val_documents=8"},
      {"--results-dir", results().string()}};
  std::vector<std::string> arguments{"train"};
  for (const auto& [option, value] : options) arguments.insert(arguments.end(), {option, value});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return (*this)(arguments);
}

fs::path Bench::node(const std::string& name) const {
  std::vector<fs::path> found;
  for (const auto& suite : fs::directory_iterator(results()))
    for (const auto& entry : fs::directory_iterator(suite.path()))
      if (entry.path().filename().string().starts_with(name + "-")) found.push_back(entry.path());
  EXPECT_EQ(found.size(), 1u) << name;
  return found.empty() ? fs::path("none") : found.front();
}

std::map<std::string, std::string> outcome(const fs::path& suite_folder) {
  std::map<std::string, std::string> result;
  const auto run = read_run(suite_folder);
  EXPECT_TRUE(run) << run.error().message;
  if (!run) return result;
  for (const std::string& sentence : run->damaged) result["damaged: " + sentence] = "";
  for (const StoredRecord& stored : run->records) {
    const auto json = record_json(stored.record);
    EXPECT_TRUE(json) << json.error().message;
    const std::string node = stored.folder.filename().string();
    for (const char* part : {"status", "metrics", "comparability", "artifacts"})
      result[node + "/record/" + part] = json->contains(part) ? json->at(part).dump() : "";
    for (const auto& [file, digest] : stored.record.artifacts) {
      const auto now = sha256_file(stored.folder / file);
      result[node + "/" + file] = now ? *now : now.error().message;
    }
  }
  return result;
}

std::string first_difference(const std::map<std::string, std::string>& a,
                             const std::map<std::string, std::string>& b) {
  for (const auto& [name, text] : a) {
    const auto other = b.find(name);
    if (other == b.end()) return name + " is only in the first run";
    if (other->second != text) return name + ": " + text + " and " + other->second;
  }
  for (const auto& [name, text] : b)
    if (!a.contains(name)) return name + " is only in the second run";
  return "";
}

std::string first_damage(const fs::path& suite_folder) {
  std::error_code error;
  if (!fs::is_directory(suite_folder, error)) return "";
  for (const auto& entry : fs::recursive_directory_iterator(suite_folder)) {
    if (entry.path().extension() == ".tmp") return entry.path().string();
    if (entry.path().filename() != "record.json") continue;
    const auto record = read_record(entry.path().parent_path());
    if (!record) return record.error().message;
    if (const auto files = verify_artifacts({*record, entry.path().parent_path()}); !files)
      return files.error().message;
  }
  return "";
}

void expect_sentence(const SubprocessResult& result, int exit_code,
                     const std::vector<std::string>& parts) {
  EXPECT_EQ(result.exit_code, exit_code) << result.out << result.err;
  const std::string all = result.out + result.err;
  for (const std::string& part : parts)
    EXPECT_NE(all.find(part), std::string::npos) << "missing \"" << part << "\" in: " << all;
}

}  // namespace nb::test
