#include "model/collectives/meeting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace nb {

Meeting::Meeting(int ranks, std::chrono::milliseconds host_timeout, std::int64_t sim_timeout_ns,
                 Words words)
    : ranks_(ranks),
      host_timeout_(host_timeout),
      sim_timeout_ns_(sim_timeout_ns),
      words_(std::move(words)),
      calls_(static_cast<std::size_t>(ranks)),
      here_(static_cast<std::size_t>(ranks)),
      gone_(static_cast<std::size_t>(ranks)) {}

std::string Meeting::describe(int rank) const {
  const CollectiveCall& call = calls_[static_cast<std::size_t>(rank)];
  constexpr const char* kOps[] = {"", " average", " maximum"};
  std::string text =
      fmt::format("{}{} of {} {}", name(call.kind), kOps[static_cast<std::size_t>(call.op)],
                  call.count, name(call.dtype));
  if (call.kind == OpKind::kBroadcast) text += fmt::format(" from rank {}", call.root);
  return text;
}

void Meeting::throw_failure() const { throw CollectiveFailure(announced_->rank, announced_->text); }

// The first of several failures at one point in the program is the lowest rank's, whoever came
// first.
void Meeting::fail_all(int rank, const std::string& text, bool is_thrown) {
  const RankFailure failure{collectives_, rank, text, is_thrown};
  failures_.push_back(failure);
  if (!announced_ || failure < *announced_) announced_ = failure;
  all_here_.notify_all();
}

void Meeting::check_calls() {
  const CollectiveCall& first = calls_.front();
  std::int64_t earliest = first.ready_ns, latest = first.ready_ns;
  int slowest = 0;
  for (int rank = 1; rank < ranks_; ++rank) {
    const CollectiveCall& call = calls_[static_cast<std::size_t>(rank)];
    if (call.kind != first.kind || call.count != first.count || call.dtype != first.dtype ||
        call.op != first.op || call.root != first.root) {
      return fail_all(rank, fmt::format("{}collective {} ({}): rank {} calls {}, rank 0 calls {}",
                                        words_.mismatch, collectives_, first.label, rank,
                                        describe(rank), describe(0)));
    }
    earliest = std::min(earliest, call.ready_ns);
    if (call.ready_ns > latest) {
      latest = call.ready_ns;
      slowest = rank;
    }
  }
  start_ns_ = latest;
  if (latest - earliest > sim_timeout_ns_) {
    fail_all(
        slowest,
        fmt::format("{}collective {} ({}): rank {} is {} ms behind, more than {} ms (simulated)",
                    words_.timeout, collectives_, first.label, slowest,
                    (latest - earliest) / 1000000, sim_timeout_ns_ / 1000000));
  }
}

// Waits until every rank has come; the last one wakes the others.
void Meeting::rendezvous(std::unique_lock<std::mutex>& lock, int rank) {
  here_[static_cast<std::size_t>(rank)] = true;
  if (++arrived_ == ranks_) {
    arrived_ = 0;
    std::fill(here_.begin(), here_.end(), false);
    ++round_;
    all_here_.notify_all();
    return;
  }
  const std::uint64_t round = round_;
  const auto missing = [&] {
    for (std::size_t r = 0; r < here_.size(); ++r) {
      if (gone_[r] && !here_[r]) return static_cast<int>(r);
    }
    return -1;
  };
  const bool woken = all_here_.wait_for(
      lock, host_timeout_, [&] { return round_ != round || announced_ || missing() >= 0; });
  if (round_ != round) return;
  const CollectiveCall& call = calls_[static_cast<std::size_t>(rank)];
  if (!announced_ && missing() >= 0) {
    fail_all(missing(),
             fmt::format("rank {} has ended; the others are waiting in {} ({}), collective {}",
                         missing(), name(call.kind), call.label, collectives_));
  }
  if (!announced_ && !woken) {
    const auto absent =
        static_cast<int>(std::find(here_.begin(), here_.end(), false) - here_.begin());
    fail_all(absent, fmt::format("{}rank {} did not reach {} ({}), collective {}, within {} ms",
                                 words_.timeout, absent, name(call.kind), call.label, collectives_,
                                 host_timeout_.count()));
  }
  throw_failure();
}

void Meeting::join(int rank, CollectiveCall call) {
  std::unique_lock lock(mutex_);
  if (announced_) throw_failure();
  calls_[static_cast<std::size_t>(rank)] = std::move(call);
  if (arrived_ + 1 == ranks_) check_calls();
  if (announced_) throw_failure();
  rendezvous(lock, rank);
}

void Meeting::wait_all(int rank) {
  std::unique_lock lock(mutex_);
  rendezvous(lock, rank);
}

void Meeting::leave(int rank) {
  std::unique_lock lock(mutex_);
  if (arrived_ + 1 == ranks_) ++collectives_;
  rendezvous(lock, rank);
}

void Meeting::finished(int rank) {
  const std::lock_guard lock(mutex_);
  gone_[static_cast<std::size_t>(rank)] = true;
  all_here_.notify_all();
}

void Meeting::failed(int rank, const std::string& text) {
  const std::lock_guard lock(mutex_);
  gone_[static_cast<std::size_t>(rank)] = true;
  fail_all(rank, fmt::format("rank {}: {}", rank, text), true);
}

std::optional<RankFailure> Meeting::first_failure() const {
  const std::lock_guard lock(mutex_);
  if (failures_.empty()) return std::nullopt;
  return *std::min_element(failures_.begin(), failures_.end());
}

}  // namespace nb
