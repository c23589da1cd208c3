#include "harness/nightly/night.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <system_error>

#include "harness/base/file_lock.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/host_info.hpp"
#include "harness/base/say.hpp"
#include "harness/base/subprocess.hpp"
#include "harness/nightly/judge.hpp"
#include "results/gate/gate_formats.hpp"
#include "results/store/acceptance.hpp"
#include "results/store/night_files.hpp"
#include "results/store/run_tree.hpp"

namespace nb {
namespace {

constexpr int kExitRun = static_cast<int>(ErrorCode::kRun);
constexpr int kExitUsage = static_cast<int>(ErrorCode::kBadInput);
constexpr std::size_t kLinesOfALog = 5;

// Where it cannot go on: the end of the log says why.
Error stopped(int exit_code, const std::string& what, const NightStep& step) {
  std::string text = fmt::format("nightly: {} ({}):\n{}", what, step.log.string(),
                                 last_lines(step.log, kLinesOfALog));
  while (text.ends_with('\n')) text.pop_back();
  return {exit_code == kExitUsage ? ErrorCode::kBadInput : ErrorCode::kRun, text};
}

// What an earlier attempt of this night left must not pass for tonight's.
Result<void> forget_earlier(const fs::path& folder) {
  for (const char* file : {kNightJson, kNightJunit, kNightSummary, "gate.log"}) {
    std::error_code error;
    fs::remove(folder / file, error);
    if (error) return run_error(fmt::format("{}: {}", (folder / file).string(), error.message()));
  }
  return {};
}

// One at a time: two would share the cores and wait for each other's nodes.
Result<FileLock> lock_nights(const fs::path& nights, const std::string& name) {
  const fs::path file = nights / ".lock";
  NB_TRY(FileLock lock, FileLock::try_acquire(file));
  if (!lock.held())
    return run_error(
        fmt::format("nightly: another night is running in {}: {}; it ends first, or choose another "
                    "--nights",
                    nights.string(), lock_holder(file)));
  lock.sign(", night " + name);
  return lock;
}

bool is_same_folder(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return fs::weakly_canonical(a, ignored) == fs::weakly_canonical(b, ignored);
}

class Phases {
 public:
  explicit Phases(const NightRequest& request) : request_(request), nights_(request.nights) {
    night_.name = request.name;
    night_.folder = nights_ / request.name;
  }

  Result<Night> run() {
    NB_TRY_VOID(make_folders(night_.folder));
    NB_TRY(const FileLock one_at_a_time, lock_nights(nights_, night_.name));
    NB_TRY_VOID(forget_earlier(night_.folder));
    if (request_.imports.empty()) {
      NB_TRY_VOID(run_suite());
    } else {
      NB_TRY_VOID(import_both());
    }
    if (!night_.baseline.empty()) NB_TRY_VOID(judge_it());
    NB_TRY_VOID(write_report());
    NB_TRY_VOID(remove_old());
    settle();
    night_.disk_bytes = folder_bytes(night_.folder);
    NB_TRY_VOID(write_file(night_.folder / kNightSummary, night_text(night_)));
    return std::move(night_);
  }

 private:
  Result<NightStep> step(const std::string& name, const std::vector<std::string>& arguments) {
    NB_TRY(NightStep done, run_step(name, arguments, night_.folder / (name + ".log")));
    night_.steps.push_back(done);
    return done;
  }

  // --baseline, else what was accepted last: a pointer of `gate accept`, which knows the records
  // as they were then, else a plain copy.
  Result<void> find_baseline(const std::string& suite) {
    const fs::path accepted = nights_ / kAcceptedFolder;
    std::error_code ignored;
    night_.baseline = request_.baseline;
    if (!night_.baseline.empty()) {
      judged_against_ = night_.baseline;
      return {};
    }
    NB_TRY(const auto pointer, find_accepted(nights_, suite));
    if (pointer) {
      night_.baseline = (nights_ / pointer->run).string();  // as it is where it is absolute
      judged_against_ = (accepted / (suite + ".json")).string();
    } else if (fs::is_directory(accepted / suite, ignored)) {
      night_.baseline = judged_against_ = (accepted / suite).string();
    }
    return {};
  }

  Result<void> run_suite() {
    const std::string suite = fs::path(request_.suite).stem().string();
    const fs::path candidate = night_.folder / suite;
    night_.candidate = candidate.string();
    NB_TRY_VOID(find_baseline(suite));
    if (!night_.baseline.empty() && is_same_folder(night_.baseline, candidate))
      return bad_input(
          fmt::format("nightly: --name {}: {} is the accepted run itself, and would be judged "
                      "against itself; give this night another name",
                      night_.name, night_.baseline));
    std::vector<std::string> arguments = {"run", request_.suite, "--results-dir",
                                          night_.folder.string(), "--quiet"};
    if (!night_.baseline.empty())
      arguments.insert(arguments.end(), {"--baseline", night_.baseline, "--no-gate"});
    NB_TRY(const NightStep done, step("run", arguments));
    if (done.exit_code == kExitUsage)
      return tl::unexpected(stopped(kExitUsage, "the suite could not run", done));
    std::error_code ignored;
    if (!fs::is_directory(candidate, ignored))
      return tl::unexpected(stopped(kExitRun, "the run left no results", done));
    night_.counts = counts_of(done.log);
    if (night_.baseline.empty())
      night_.accept = fmt::format("npubench gate accept {} --results-dir {} --why \"…\"",
                                  shell_text(night_.candidate), shell_text(nights_.string()));
    return {};
  }

  // The line of npubench run that says what it did.
  static std::string counts_of(const fs::path& log) {
    const std::string text = read_file(log).value_or("");
    const std::size_t at = text.rfind(" executed, ");
    if (at == text.npos) return {};
    const std::size_t begin = text.rfind('\n', at) + 1;  // npos + 1: the file's beginning
    return text.substr(begin, text.find('\n', at) - begin);
  }

  Result<void> import_both() {
    night_.baseline = judged_against_ = (night_.folder / "judged_against").string();
    night_.candidate = (night_.folder / "judged").string();
    const std::string* folders[] = {&night_.baseline, &night_.candidate};
    for (std::size_t i = 0; i < request_.imports.size(); ++i) {
      NB_TRY(const NightStep done, step(fmt::format("import_{}", i + 1),
                                        {"import", request_.imports[i], "--out", *folders[i]}));
      if (done.exit_code != 0)
        return tl::unexpected(
            stopped(done.exit_code, request_.imports[i] + " could not be imported", done));
    }
    return {};
  }

  // In this process: one judgement, and three files that cannot differ.
  Result<void> judge_it() {
    NightStep done;
    done.name = "gate";
    done.log = night_.folder / "gate.log";
    say_on_stderr(begin_text(done.name, done.log));
    const auto start = std::chrono::steady_clock::now();
    GateRequest request;
    request.baseline = judged_against_;
    request.candidate = night_.candidate;
    request.policy = request_.policy;
    request.strict = request_.strict;
    request.home = nights_.string();
    request.night = night_.name;
    auto judged = judge(request);
    NB_TRY_VOID(write_file(done.log, judged ? gate_text(*judged) : judged.error().message + "\n"));
    if (judged) {
      NB_TRY_VOID(write_json(night_.folder / kNightJson, gate_json(*judged)));
      NB_TRY_VOID(write_file(night_.folder / kNightJunit, gate_junit(*judged)));
    }
    done.exit_code = judged ? judged->exit_code : static_cast<int>(judged.error().code);
    done.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    say_on_stderr(step_text(done) + "\n");
    night_.steps.push_back(done);
    gate_code_ = done.exit_code;
    if (judged)
      night_.gate = std::move(*judged);
    else if (done.exit_code == kExitUsage)
      return tl::unexpected(stopped(kExitUsage, "the gate could not judge", done));
    return {};
  }

  Result<void> write_report() {
    const fs::path folder = night_.folder / kNightReport;
    std::vector<std::string> arguments = {"report",        night_.candidate, "--out",
                                          folder.string(), "--lang",         request_.language,
                                          "--nights",      nights_.string()};
    if (!night_.baseline.empty())
      arguments.insert(arguments.end(), {"--baseline", night_.baseline});
    // As the gate judged, so that the report says the same.
    if (!night_.baseline.empty() && !request_.policy.empty())
      arguments.insert(arguments.end(), {"--policy", request_.policy});
    if (!night_.baseline.empty() && request_.strict) arguments.emplace_back("--strict");
    NB_TRY(const NightStep done, step("report", arguments));
    // 4: written, without the damaged nodes.
    if (done.exit_code == 0 || done.exit_code == kExitRun) night_.report = folder / "report.html";
    return {};
  }

  Result<void> remove_old() {
    if (request_.keep == 0) return {};
    NB_TRY_VOID(step("gc", {"data", "gc", nights_.string(), "--keep-last",
                            std::to_string(request_.keep), "--yes"}));
    return {};
  }

  // Of several: the gate's 1 before a failed step, a failed step before the gate's 2 and 3.
  void settle() {
    const bool has_failed = std::ranges::any_of(night_.steps, [](const NightStep& done) {
      const bool is_partial_report = done.name == "report" && done.exit_code == kExitRun;
      return done.name != "gate" && done.exit_code != 0 && !is_partial_report;
    });
    night_.exit_code = has_failed && gate_code_ != 1 ? kExitRun : gate_code_;
  }

  const NightRequest& request_;
  fs::path nights_;
  Night night_;
  std::string judged_against_;  // what the gate is given: a pointer knows what the run was
  int gate_code_ = 0;
};

}  // namespace

Result<std::string> name_of_night(const std::string& given) {
  const std::string name = given.empty() ? utc_time_text().substr(0, 10) : given;
  const bool is_plain =
      !name.starts_with('.') && name != kAcceptedFolder && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '_' || c == '-';
      });
  if (!is_plain)
    return bad_input(fmt::format(
        "nightly: --name {}: letters, digits, points and dashes, not a point first; not \"{}\"",
        name, kAcceptedFolder));
  return name;
}

Result<Night> run_night(const NightRequest& request) { return Phases(request).run(); }

}  // namespace nb
