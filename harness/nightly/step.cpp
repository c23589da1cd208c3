#include "harness/nightly/step.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>

#include "harness/base/fs.hpp"
#include "harness/base/own_files.hpp"
#include "harness/base/say.hpp"
#include "harness/base/subprocess.hpp"

namespace nb {
namespace {

constexpr auto kLongest = std::chrono::hours(24 * 30);

}  // namespace

Result<NightStep> run_step(const std::string& name, const std::vector<std::string>& arguments,
                           const fs::path& log) {
  std::vector<std::string> argv = {program_to_start().string()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  SubprocessOptions options;
  options.time_limit = kLongest;
  options.environment = {{kEndsWithVariable, std::to_string(::getpid())}};
  options.output_file = log;
  say_on_stderr(begin_text(name, log));
  const auto start = std::chrono::steady_clock::now();
  NB_TRY(const SubprocessResult ended, run_subprocess(argv, options));
  NightStep step;
  step.name = name;
  step.exit_code = ended.exit_code;
  step.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  step.log = log;
  say_on_stderr(step_text(step) + "\n");
  return step;
}

std::string begin_text(const std::string& name, const fs::path& log) {
  return fmt::format("{:<10} begins, see {}\n", name, log.string());
}

std::string step_text(const NightStep& step) {
  std::string text = fmt::format("{:<10} {:6.0f} s  ", step.name, step.seconds);
  if (!step.note.empty()) return text + step.note;
  if (step.exit_code == 0) return text + "ok";
  return text + fmt::format("exit code {}, see {}", step.exit_code, step.log.string());
}

std::string last_lines(const fs::path& log, std::size_t most) {
  std::vector<std::string> lines;
  const std::string text = read_file(log).value_or("");
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back("  " + text.substr(begin, end - begin) + "\n");
    begin = end + 1;
  }
  std::string last;
  for (std::size_t i = lines.size() - std::min(most, lines.size()); i < lines.size(); ++i)
    last += lines[i];
  return last;
}

bool end_with_parent() {
  const char* parent = std::getenv(kEndsWithVariable);
  if (parent == nullptr) return true;
  const std::string expected = parent;
  ::unsetenv(kEndsWithVariable);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  return expected == std::to_string(::getppid());
}

}  // namespace nb
