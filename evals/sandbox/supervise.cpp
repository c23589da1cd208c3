#include "evals/sandbox/supervise.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <utility>

#include "evals/sandbox/child.hpp"
#include "evals/sandbox/idle_clock.hpp"
#include "evals/sandbox/scratch.hpp"
#include "evals/sandbox/scripts.hpp"
#include "evals/sandbox/verdict.hpp"

namespace nb::sandbox {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kSampleEvery(50);
constexpr std::size_t kEndlessOutput = std::size_t{16} << 20;
constexpr std::size_t kMaxReport = std::size_t{1} << 20;

// Bytes that a child reads from its descriptor as from a file.
Result<Descriptor> memory_file(std::string_view bytes) {
  Descriptor file(::memfd_create("npubench", MFD_CLOEXEC));
  if (!file.is_open())
    return run_error(
        fmt::format("sandbox: cannot allocate memory for a program: {}", std::strerror(errno)));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t put = ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0)
      return run_error(
          fmt::format("sandbox: cannot allocate memory for a program: {}", std::strerror(errno)));
    done += static_cast<std::size_t>(put);
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

// What a child reads first: its limits, the lengths of the texts, the texts (wire.py, read_job).
std::string job_text(const Limits& limits, Level level,
                     std::initializer_list<std::string_view> texts) {
  // The number of threads can be limited only where users are counted apart.
  const std::uint64_t threads = level == Level::kBubblewrap ? limits.threads : 0;
  std::string job = fmt::format("{} {} {}", limits.open_files, limits.memory_bytes, threads);
  for (const std::string_view text : texts) job += fmt::format(" {}", text.size());
  job += '\n';
  for (const std::string_view text : texts) job += text;
  return job;
}

// What both children and the supervisor share. The ends of the children are closed here as soon as
// both run, so that the end of one process is the end of its channel.
struct Channels {
  Pipe output;    // both print here; nobody reads it but for the message of a start that failed
  Pipe requests;  // checker → program
  Pipe answers;   // program → checker
  Pipe report;    // checker → supervisor
};

Result<Channels> open_channels() {
  Channels channels;
  for (Pipe* pipe : {&channels.output, &channels.requests, &channels.answers, &channels.report}) {
    NB_TRY(*pipe, make_pipe());
  }
  for (const Pipe* pipe : {&channels.output, &channels.report})
    ::fcntl(pipe->out.get(), F_SETFL, O_NONBLOCK);
  return channels;
}

// Starts one interpreter. `special`: the descriptors that only this child has.
Result<Child> start(const Method& method, const Limits& limits, std::string_view script,
                    const std::string& job, const Pipe& output, const Scratch* scratch,
                    std::initializer_list<std::pair<std::size_t, int>> special) {
  NB_TRY(const Descriptor input, memory_file(job));
  ChildDescriptors list;
  list.fill(-1);
  list[kJob] = input.get();
  list[kOut] = list[kErr] = output.in.get();
  for (const auto& [place, number] : special) list[place] = number;
  if (method.level == Level::kBubblewrap) {
    NB_TRY(const Descriptor filter, memory_file(method.filter));
    NB_TRY(Pipe status, make_pipe());
    ::fcntl(status.out.get(), F_SETFL, O_NONBLOCK);
    list[kFilterText] = filter.get();
    list[kStatusText] = status.in.get();
    NB_TRY(Launched bubblewrap, launch(bubblewrap_plan(method, limits, script), list));
    return Child(std::move(bubblewrap), std::move(status.out));
  }
  NB_TRY(const Descriptor rules, landlock_rules(landlock_paths(scratch)));
  list[kRules] = rules.get();
  if (scratch != nullptr) list[kFolder] = scratch->folder();
  NB_TRY(Launched interpreter, launch(landlock_plan(method, limits, script, scratch), list));
  return Child(std::move(interpreter), Descriptor());
}

class Run {
 public:
  Run(Child program, Child checker, Channels channels, const Limits& limits, const Scratch* scratch)
      : program_(std::move(program)),
        checker_(std::move(checker)),
        channels_(std::move(channels)),
        limits_(limits),
        scratch_(scratch),
        start_(Clock::now()),
        idle_(start_) {
    for (Pipe* pipe : {&channels_.requests, &channels_.answers}) pipe->out.close();
    for (Pipe* pipe :
         {&channels_.output, &channels_.requests, &channels_.answers, &channels_.report})
      pipe->in.close();
  }

  Result<ProgramOutcome> finish() {
    for (;;) {
      program_.look();
      checker_.look();
      read_channels();
      if (program_.has_ended() && checker_.has_ended()) break;
      if (checker_.has_ended() && !waits_for_program(observed_))
        program_.kill();
      else
        watch();
      wait_for_news();
    }
    if (program_.is_lost() || checker_.is_lost())
      return run_error("sandbox: the process that guards programs was killed");
    // What it wrote last, or all of it where it ended between two samples.
    if (observed_.stop == Stop::kNone && scratch_ != nullptr &&
        scratch_->is_over(limits_.scratch_bytes, /*process=*/0))
      observed_.stop = Stop::kScratch;
    observed_.program = {program_.exit_code(), program_.cpu_ms()};
    observed_.checker = {checker_.exit_code(), checker_.cpu_ms()};
    if (const std::string trouble = trouble_of_host(observed_); !trouble.empty())
      return run_error(fmt::format("sandbox: {}{}{}", trouble, first_output_.empty() ? "" : ": ",
                                   first_output_));
    return verdict(observed_, limits_);
  }

 private:
  void wait_for_news() {
    std::array<pollfd, 4> polled{};
    std::size_t count = 0;
    for (const Pipe* pipe : {&channels_.output, &channels_.report})
      if (pipe->out.is_open()) polled[count++] = {pipe->out.get(), POLLIN, 0};
    for (const Child* child : {&program_, &checker_})
      if (!child->has_ended()) polled[count++] = {child->notice(), POLLIN, 0};
    ::poll(polled.data(), count, static_cast<int>(kSampleEvery.count()));
  }

  void read_channels() {
    if (channels_.output.out.is_open()) {
      std::string dropped;
      if (!read_all(channels_.output.out, dropped, kEndlessOutput)) channels_.output.out.close();
      output_bytes_ += dropped.size();
      if (first_output_.size() < 300) first_output_ += dropped.substr(0, 300);
    }
    if (channels_.report.out.is_open() &&
        !read_all(channels_.report.out, observed_.report, kMaxReport))
      channels_.report.out.close();
  }

  void watch() {
    const auto now = Clock::now();
    if (output_bytes_ > kEndlessOutput) stop(Stop::kOutput);
    if (now - sampled_ < kSampleEvery) return;
    sampled_ = now;
    const std::array both = {program_.inner(), checker_.inner()};
    const auto sleeps = [](const Child& child) {
      return child.has_ended() || is_asleep(child.inner());
    };
    if (idle_.sample(both, now) > std::chrono::seconds(limits_.idle_seconds) && sleeps(program_) &&
        sleeps(checker_))
      stop(Stop::kIdle);
    if (now - start_ > std::chrono::seconds(limits_.wall_seconds)) stop(Stop::kWall);
    const bool writes_too_much = scratch_ != nullptr
                                     ? scratch_->is_over(limits_.scratch_bytes, program_.inner())
                                     : has_too_many_files(program_.inner(), limits_.scratch_bytes);
    if (writes_too_much) stop(Stop::kScratch);
    if (observed_.stop != Stop::kNone) stop(observed_.stop);
  }

  void stop(Stop why) {
    if (observed_.stop == Stop::kNone) observed_.stop = why;
    program_.kill();
    checker_.kill();
  }

  Child program_, checker_;
  Channels channels_;
  const Limits& limits_;
  const Scratch* scratch_;
  Clock::time_point start_, sampled_;
  IdleClock idle_;
  Observed observed_;
  std::string first_output_;
  std::size_t output_bytes_ = 0;
};

}  // namespace

Result<ProgramOutcome> supervise(const Method& method, const Trial& trial, const Limits& limits) {
  NB_TRY_VOID(need_guard());
  std::optional<Scratch> scratch;
  if (method.level == Level::kLandlock) {
    NB_TRY(Scratch folder, Scratch::create(method.becomes_nobody));
    scratch.emplace(std::move(folder));
  }
  const Scratch* files = scratch ? &*scratch : nullptr;
  NB_TRY(Channels channels, open_channels());
  NB_TRY(
      Child program,
      start(method, limits, kRunnerText,
            job_text(limits, method.level, {trial.prelude, trial.program}), channels.output, files,
            {{kRequests, channels.requests.out.get()}, {kAnswers, channels.answers.in.get()}}));
  NB_TRY(Child checker,
         start(method, limits, kCheckerText,
               job_text(limits, method.level, {trial.entry_point, trial.prompt, trial.test}),
               channels.output, nullptr,
               {{kRequests, channels.requests.in.get()},
                {kAnswers, channels.answers.out.get()},
                {kReport, channels.report.in.get()}}));
  Result<ProgramOutcome> outcome =
      Run(std::move(program), std::move(checker), std::move(channels), limits, files).finish();
  if (scratch) NB_TRY_VOID(scratch->remove());
  return outcome;
}

}  // namespace nb::sandbox
