#include "harness/base/team.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace nb {

namespace {

using Clock = std::chrono::steady_clock;

// How long a helper spins and yields for the next loop before it sleeps: longer than the serial
// work between the loops of a step. Waking one costs 10 to 30 microseconds.
constexpr std::chrono::microseconds kAwake{1000};
// Spins before the core is yielded each time; they take about ten microseconds.
constexpr int kSpinsAlone = 500;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins, then yields, until the condition holds.
template <class Condition>
void spin_until(const Condition& condition) {
  for (int spins = 0; !condition(); ++spins) {
    if (spins < kSpinsAlone)
      relax();
    else
      std::this_thread::yield();
  }
}

constexpr std::uint64_t kOpen = 1U << 16U;    // the loop takes helpers
constexpr std::uint64_t kInside = kOpen - 1;  // how many are in it
constexpr unsigned kLoopShift = 17;           // the number of the loop stands above

std::uint64_t loop_of(std::uint64_t state) { return state >> kLoopShift; }

}  // namespace

// Of the part at work.
Pieces::Range Pieces::some(std::size_t next, std::size_t most) const {
  const std::size_t left = part().end - next;
  return {next, next + std::min(most, parts_.size() == 1 ? left : (left + 1) / 2)};
}

// Relaxed: handing out pieces orders nothing between them, so a sanitizer sees every race.
std::optional<Pieces::Range> Pieces::take(std::size_t most) {
  for (; passed_ < parts_.size(); ++passed_) {
    std::size_t next = part().next.load(std::memory_order_relaxed);
    while (next < part().end) {
      const Range taken = some(next, most);
      if (part().next.compare_exchange_weak(next, taken.end, std::memory_order_relaxed))
        return taken;
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> Pieces::take() {
  for (; passed_ < parts_.size(); ++passed_) {
    Part& now = part();
    if (const std::size_t piece = now.next.fetch_add(1, std::memory_order_relaxed); piece < now.end)
      return piece;
  }
  return std::nullopt;
}

std::optional<Pieces::Range> Pieces::expected(std::size_t most) const {
  if (passed_ >= parts_.size()) return std::nullopt;
  const std::size_t next = part().next.load(std::memory_order_relaxed);
  return next < part().end ? std::optional(some(next, most)) : std::nullopt;
}

struct Team::Shared {
  explicit Shared(std::size_t workers) : parts(workers), helpers(workers) {}

  struct alignas(64) Helper {
    std::atomic<std::int32_t> asleep{0};
  };

  // Loop number, open or not, helpers inside. A helper enters by counting itself while the loop is
  // open; the starter closes it and waits until nobody is inside, never for one who sleeps.
  alignas(64) std::atomic<std::uint64_t> state{0};
  std::atomic<bool> ended{false};
  const Work* work = nullptr;
  std::vector<Pieces::Part> parts;
  std::vector<Helper> helpers;
  std::mutex failure_lock;
  std::exception_ptr failure;

  void share_out(std::size_t count) {
    for (std::size_t w = 0; w < parts.size(); ++w) {
      parts[w].next.store(count * w / parts.size(), std::memory_order_relaxed);
      parts[w].end = count * (w + 1) / parts.size();
    }
  }

  void take_part(std::size_t worker) {
    try {
      Pieces pieces(parts, worker);
      (*work)(pieces);
    } catch (...) {
      for (Pieces::Part& part : parts) part.next.store(part.end, std::memory_order_relaxed);
      const std::lock_guard lock(failure_lock);
      if (failure == nullptr) failure = std::current_exception();
    }
  }

  void open_loop() {
    const std::uint64_t loop = loop_of(state.load(std::memory_order_relaxed)) + 1;
    state.store(loop << kLoopShift | kOpen);
    wake();
  }

  // Sequentially consistent with sleep(): a helper either sees the new state or is seen asleep.
  void wake() {
    for (Helper& helper : helpers)
      if (helper.asleep.load() != 0 && helper.asleep.exchange(0) != 0) helper.asleep.notify_one();
  }

  void close_loop() {
    state.fetch_and(~kOpen, std::memory_order_acq_rel);
    spin_until([this] { return (state.load(std::memory_order_acquire) & kInside) == 0; });
  }

  bool enter(std::uint64_t loop) {
    std::uint64_t now = state.load(std::memory_order_relaxed);
    while (loop_of(now) == loop && (now & kOpen) != 0)
      if (state.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel)) return true;
    return false;
  }

  void leave() { state.fetch_sub(1, std::memory_order_acq_rel); }

  bool has_news(std::uint64_t seen) const { return loop_of(state.load()) != seen || ended.load(); }

  void sleep(Helper& helper, std::uint64_t seen) {
    helper.asleep.store(1);
    if (!has_news(seen)) helper.asleep.wait(1);
    helper.asleep.store(0);
  }

  void wait_for_news(Helper& helper, std::uint64_t seen) {
    for (int spins = 0; spins < kSpinsAlone; ++spins) {
      if (has_news(seen)) return;
      relax();
    }
    const auto sleeps_at = Clock::now() + kAwake;
    while (!has_news(seen)) {
      if (Clock::now() < sleeps_at)
        std::this_thread::yield();
      else
        sleep(helper, seen);
    }
  }

  void help(std::size_t worker) {
    for (std::uint64_t seen = 0;;) {
      wait_for_news(helpers[worker], seen);
      if (ended.load()) return;
      seen = loop_of(state.load());
      if (!enter(seen)) continue;
      take_part(worker);
      leave();
    }
  }
};

Team::Team(std::size_t workers) : workers_(workers), shared_(std::make_shared<Shared>(workers)) {
  // Detached: a forked child has the team without its threads, and must not wait for them at exit.
  try {
    for (std::size_t worker = 1; worker < workers; ++worker)
      std::thread([shared = shared_, worker] { shared->help(worker); }).detach();
  } catch (const std::system_error&) {
    // As many as there are; the starter takes the pieces of the others.
  }
}

Team::~Team() {
  shared_->ended = true;
  shared_->wake();
}

void Team::run(std::size_t count, const Work& work) {
  shared_->work = &work;
  shared_->share_out(count);
  shared_->open_loop();
  shared_->take_part(0);
  shared_->close_loop();
  if (shared_->failure != nullptr) std::rethrow_exception(std::exchange(shared_->failure, nullptr));
}

}  // namespace nb
