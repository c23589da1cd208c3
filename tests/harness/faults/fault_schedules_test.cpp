// Faults drawn at random, up to three at once, on meshes, launchers and limits drawn at random:
// every training ends by itself, by a fault that was planted or not at all, the same way twice, and
// the doctor finds in the logs who was first.
// NB_FAULT_SCHEDULES=200 plays as many; NB_FAULT_SCHEDULE=17 that one alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/base/progress.hpp"
#include "harness/base/rng.hpp"
#include "harness/doctor/examine.hpp"
#include "harness/doctor/log_scan.hpp"
#include "harness/faults/failure.hpp"
#include "harness/faults/injector.hpp"
#include "tests/model/train/tiny_run.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

constexpr std::int64_t kSteps = 5, kEvery = 2;

struct Schedule {
  std::string profile;
  MeshSettings mesh;
  FaultSettings settings;
  std::string text() const {
    const std::string kind = mesh.is_sharded() ? fmt::format("fsdp {}", *mesh.fsdp)
                             : mesh.zero       ? std::string("zero")
                                               : std::string("copies");
    std::string limits;
    for (const auto& [name, value] : settings.environment)
      limits += fmt::format(" {}={}", name, value);
    return fmt::format("{} on {}, dp {}, {}, {}, group {}{}", fmt::join(settings.faults, " "),
                       profile, mesh.dp, kind, settings.launcher.value_or("none"),
                       settings.process_group_timeout_s.value_or(0), limits);
  }
};

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : rng_(seed, "fault schedule") {}

  Schedule operator()() {
    Schedule schedule;
    schedule.profile = one_of({"ascend_910b3", "ascend_910b3", "ascend_910a", "h100_sxm"});
    const bool is_hccl = schedule.profile != "h100_sxm";
    MeshSettings& mesh = schedule.mesh;
    const int form = below(4);
    mesh.dp = form == 3 ? 2 : form == 2 ? 1 : below(2) == 0 ? 2 : 4;
    if (form == 1) mesh.zero = 1;
    if (form >= 2) mesh.fsdp = form == 3 ? 2 : 4;
    if (form == 3) mesh.shard = one_of({"full", "hybrid"});
    if (below(2) == 0) schedule.settings.launcher = "torchrun";
    if (below(3) == 0) schedule.settings.process_group_timeout_s = below(2) == 0 ? 600 : 1800;
    if (is_hccl && below(2) == 0)
      schedule.settings.environment["HCCL_EXEC_TIMEOUT"] =
          one_of({schedule.profile == "ascend_910a" ? "68" : "0", "600", "3600"});
    if (is_hccl && below(3) == 0)
      schedule.settings.environment["HCCL_CONNECT_TIMEOUT"] = one_of({"120", "600", "7200"});
    const FaultTarget target{mesh.ranks(), kSteps, kEvery, kEvery, is_hccl};
    const auto faults = static_cast<std::size_t>(1 + below(3));
    while (schedule.settings.faults.size() < faults) {
      const std::string text = fault(mesh.ranks());
      const auto parsed = parse_rank_fault(text, "");
      EXPECT_TRUE(parsed.has_value()) << text;
      if (parsed && check_rank_fault(*parsed, target, "")) schedule.settings.faults.push_back(text);
    }
    return schedule;
  }

 private:
  int below(int n) { return static_cast<int>(rng_.below(next_++, static_cast<std::uint64_t>(n))); }
  std::string one_of(std::vector<std::string> texts) {
    return texts[static_cast<std::size_t>(below(static_cast<int>(texts.size())))];
  }
  std::string fault(std::int64_t ranks) {
    const int rank = below(static_cast<int>(ranks)), step = below(kSteps);
    const std::string at = fmt::format("rank={},step={}", rank, step);
    const std::string kind = one_of({"kill", "exit", "exception", "oom", "late", "late", "port",
                                     "mismatch", "order", "nan", "link", "slow", "flip", "ecc"});
    if (kind == "late")
      return fmt::format("late:rank={},seconds={},{}", rank,
                         one_of({"1", "119", "121", "141", "700", "1835", "1837", "5000"}),
                         one_of({"at=start", "at=first", fmt::format("step={}", step)}));
    if (kind == "port")
      return one_of(
          {"port:which=master", "port:which=host", fmt::format("port:which=device,rank={}", rank)});
    if (kind == "mismatch")
      return fmt::format("mismatch:rank={},what={}{}", rank, one_of({"op", "count", "dtype"}),
                         below(2) == 0 ? "" : fmt::format(",step={}", step));
    if (kind == "order" || kind == "ecc") return fmt::format("{}:{}", kind, at);
    if (kind == "nan") return fmt::format("nan:{},where={}", at, one_of({"gradient", "parameter"}));
    if (kind == "link")
      return fmt::format("link:ranks={}-{},{},from={}", rank == 0 ? 0 : rank - 1,
                         rank == 0 ? 1 : rank, one_of({"state=down", "state=slow,factor=4"}), step);
    if (kind == "slow") return fmt::format("slow:rank={},factor=1.5,from={}", rank, step);
    if (kind == "flip") return fmt::format("flip:{},tensor=lm_head.weight,bit={}", at, below(32));
    return fmt::format("{}:{},phase={}", kind, at,
                       one_of({"forward", "backward", "optimizer", "evaluate", "save"}));
  }

  Rng rng_;
  std::uint64_t next_ = 0;
};

struct End {
  bool is_ok = false;
  std::string error;
  std::optional<FailureStory> story;
};

End play(const test::TinyData& data, const Schedule& schedule) {
  const test::TempDir folder;
  TrainSettings settings = test::tiny_settings();
  settings.sequence_len = 16;
  settings.device_batch_size = 1;
  settings.total_batch_tokens = 64;  // four micro-batches
  settings.iterations = kSteps;
  settings.eval_every = settings.checkpoint_every = kEvery;
  settings.eval_tokens = 16;
  settings.sample_every = 0;
  const auto ranks = static_cast<int>(schedule.mesh.ranks());
  auto train_loader = TokenLoader::create(data.train);
  auto validation_loader = TokenLoader::create(data.validation);
  Device device(*load_profile(schedule.profile), ExecutionMode::kExecute, {.ranks = ranks});
  auto injector = Injector::create(schedule.settings, device, ranks);
  if (!injector) return {false, injector.error().message, {}};
  if (auto story = (*injector)->failed_at_start()) return {false, "at the start", std::move(story)};
  TrainHooks hooks;
  hooks.disturbance = injector->get();
  End end;
  try {
    const auto trained =
        train(settings, device, {*train_loader, *validation_loader, data.tokenizer}, folder.path(),
              hooks, {}, schedule.mesh);
    end.is_ok = trained.has_value();
    if (!trained) end.error = trained.error().message;
  } catch (const std::exception& failure) {
    end.error = failure.what();
  }
  if (!end.is_ok) end.story = (*injector)->failure();
  return end;
}

// Whom the doctor names.
std::vector<std::string> diagnosed(const FailureStory& story) {
  std::vector<doctor::Captured> texts;
  doctor::LogScan scan;
  for (const auto& [name, text] : logs_of(story)) {
    texts.push_back({name, text});
    scan.begin(name);
    scan.feed(text);
    scan.end();
  }
  std::vector<std::string> ranks;
  for (const doctor::Root& root : doctor::examine(texts, {}, scan.take()).diagnosis.roots)
    ranks.push_back(root.event.rank);
  return ranks;
}

// Ends the program, with the schedule's name, where one hangs.
class Guard {
 public:
  explicit Guard(const std::string& text) : thread_([this, text] { watch(text); }) {}
  ~Guard() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  void watch(const std::string& text) {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, std::chrono::minutes(5), [this] { return is_over_; })) return;
    std::fprintf(stderr, "hangs: %s\n", text.c_str());
    std::abort();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

std::int64_t number_of(const char* variable, std::int64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoll(text);
}

TEST(FaultSchedules, EndByThemselvesAndTheSameWayTwice) {
  set_progress_mode(ProgressMode::kQuiet);
  const test::TinyData data = test::tiny_data();
  const std::int64_t only = number_of("NB_FAULT_SCHEDULE", -1);
  const std::int64_t first = std::max<std::int64_t>(only, 0);
  const std::int64_t count = only >= 0 ? 1 : number_of("NB_FAULT_SCHEDULES", 24);
  int at_start = 0, ended = 0, through = 0, never = 0, right = 0, among = 0;
  double longest_s = 0;
  for (std::int64_t seed = first; seed < first + count; ++seed) {
    const Schedule schedule = Draw(static_cast<std::uint64_t>(seed))();
    const std::string text = fmt::format("schedule {}: {}", seed, schedule.text());
    SCOPED_TRACE(text);
    const Guard guard(text);
    const auto began = std::chrono::steady_clock::now();
    const End a = play(data, schedule);
    longest_s = std::max(
        longest_s, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    // Nobody waited for real.
    EXPECT_EQ(a.error.find("did not reach"), std::string::npos) << a.error;
    EXPECT_NE(a.is_ok, a.story.has_value()) << a.error;
    const End b = play(data, schedule);
    EXPECT_EQ(a.is_ok, b.is_ok) << a.error << "\n" << b.error;
    if (!a.story || !b.story) {
      ++through;
      continue;
    }
    EXPECT_EQ(failure_json(*a.story), failure_json(*b.story));
    EXPECT_EQ(logs_of(*a.story), logs_of(*b.story));
    const std::vector<std::string> named = diagnosed(*a.story);
    const bool is_named =
        std::ranges::find(named, std::to_string(a.story->outcome.first_rank)) != named.end();
    right += named.size() == 1 && is_named ? 1 : 0;
    among += named.size() > 1 && is_named ? 1 : 0;
    // Of two ranks that say different things either may be wrong; NCCL compares no arguments; ranks
    // that wait for ever say nothing.
    if (schedule.mesh.ranks() > 2 && a.story->limits.is_hccl && !a.story->outcome.never_ends) {
      EXPECT_TRUE(is_named) << fmt::format("named: {}", fmt::join(named, " "));
    }
    (a.error == "at the start" ? at_start : ended) += 1;
    never += a.story->outcome.never_ends ? 1 : 0;
    // Only where no limit would end it.
    EXPECT_TRUE(!a.story->outcome.never_ends || a.story->limits.collective_s() == 0);
  }
  fmt::print(
      "{} schedules: {} ended before the first step, {} in a step ({} of them would never end on "
      "the device), {} ran through; the longest took {:.2f} s; the doctor names the first rank of "
      "{}, and among others of {}\n",
      count, at_start, ended, never, through, longest_s, right, among);
}

}  // namespace
}  // namespace nb
