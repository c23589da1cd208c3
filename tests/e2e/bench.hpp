// Drives the built binary as a user does: own results folder, own environment, exit code and both
// outputs.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::test {

class Bench {
 public:
  // npubench <arguments…> with a time limit after which it is killed (SIGKILL).
  SubprocessResult operator()(std::vector<std::string> arguments,
                              std::chrono::milliseconds limit = std::chrono::minutes(5)) const;
  // The same behind a shell's redirection: ">/dev/full".
  SubprocessResult redirected(const std::string& redirection,
                              const std::vector<std::string>& arguments) const;
  // npubench run <suite> --results-dir <ours> <more…>
  SubprocessResult run(const std::string& suite, std::vector<std::string> more = {},
                       std::chrono::milliseconds limit = std::chrono::minutes(5)) const;
  // npubench train: four steps of a d1 on a few generated texts, in results()/train-d1.
  SubprocessResult train(std::vector<std::string> more = {}) const;

  const std::filesystem::path& results() const { return folder_.path(); }
  std::filesystem::path suite_folder(const std::string& suite = "small") const {
    return results() / suite;
  }
  // The only folder of a node whose name begins so.
  std::filesystem::path node(const std::string& name) const;

  std::vector<std::pair<std::string, std::string>> environment;

 private:
  TempDir folder_;
};

inline constexpr const char* kSmallSuite = "tests/e2e/small.json";

// What must be equal between two runs: node folder → (metrics, comparability and artifact digests
// of its record as canonical text, and the bytes of every deterministic artifact).
std::map<std::string, std::string> outcome(const std::filesystem::path& suite_folder);

// First node or file that differs; empty: none.
std::string first_difference(const std::map<std::string, std::string>& a,
                             const std::map<std::string, std::string>& b);

// Every record below is readable, lists files that are there with their digests, and no temporary
// is left.
std::string first_damage(const std::filesystem::path& suite_folder);

// One sentence, on stderr, from us.
void expect_sentence(const SubprocessResult& result, int exit_code,
                     const std::vector<std::string>& parts);

}  // namespace nb::test
