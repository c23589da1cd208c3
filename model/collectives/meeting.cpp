#include "model/collectives/meeting.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace nb {
namespace {

constexpr std::size_t kNamedRanks = 8;  // that are listed of those that wait

void open(Meeting::Place& place) {
  const std::size_t size = place.members.size();
  place.calls.resize(size);
  place.pieces.resize(size);
  place.here.resize(size);
}

std::string transfer_text(const Transfer& transfer, std::string_view label) {
  return fmt::format("{} of {} {} {} rank {} ({}, tag {})", transfer.sends ? "send" : "receive",
                     transfer.buffer.count, name(transfer.buffer.dtype),
                     transfer.sends ? "to" : "from", transfer.peer, label, transfer.tag);
}

}  // namespace

Meeting::Meeting(int ranks, std::chrono::milliseconds host_timeout, std::int64_t sim_timeout_ns,
                 Words words)
    : host_timeout_(host_timeout),
      sim_timeout_ns_(sim_timeout_ns),
      words_(std::move(words)),
      gone_(static_cast<std::size_t>(ranks), Gone::kNo) {
  for (int rank = 0; rank < ranks; ++rank) all_.members.push_back(rank);
  open(all_);
}

Meeting::Place& Meeting::place_of(const Place& parent, int index, std::string name,
                                  std::vector<int> members) {
  const std::lock_guard lock(mutex_);
  auto& place = places_[{&parent, parent.collectives, index}];
  if (place == nullptr) {
    place = std::make_unique<Place>();
    place->name = std::move(name);
    place->members = std::move(members);
    open(*place);
  }
  return *place;
}

std::string Meeting::describe(const Place& place, int member) const {
  const CollectiveCall& call = place.calls[static_cast<std::size_t>(member)];
  if (!call.groups.empty()) return "creates groups " + call.groups;
  constexpr const char* kOps[] = {"", " average", " maximum"};
  std::string text =
      fmt::format("calls {}{} of {} {}", name(call.kind), kOps[static_cast<std::size_t>(call.op)],
                  call.count, name(call.dtype));
  if (call.kind == OpKind::kBroadcast)
    text += fmt::format(" from rank {}", place.members[static_cast<std::size_t>(call.root)]);
  return text;
}

// "collective 3 (grads)", "collective 3 (grads) of group dp [0 2]".
std::string Meeting::place_text(const Place& place, std::string_view label) const {
  std::string text = fmt::format("collective {} ({})", place.collectives, label);
  if (!place.name.empty())
    text += fmt::format(" of group {} [{}]", place.name, fmt::join(place.members, " "));
  return text;
}

void Meeting::throw_failure() const { throw CollectiveFailure(announced_->rank, announced_->text); }

// A rank goes on until its own clock is where the first failure was: so which one is the first does
// not depend on threads.
void Meeting::throw_if_over(std::int64_t ready_ns) const {
  if (announced_ && (nobody_goes_on_ || ready_ns >= announced_->time_ns)) throw_failure();
}

void Meeting::fail(const RankFailure& failure) {
  failures_.push_back(failure);
  if (!announced_ || failure.order() < announced_->order()) announced_ = failure;
  changed_.notify_all();
}

void Meeting::check_calls(Place& place) {
  const CollectiveCall& first = place.calls.front();
  std::int64_t earliest = first.ready_ns, latest = first.ready_ns;
  int slowest = 0;
  for (const CollectiveCall& call : place.calls) {
    if (call.ready_ns > latest) slowest = static_cast<int>(&call - place.calls.data());
    earliest = std::min(earliest, call.ready_ns);
    latest = std::max(latest, call.ready_ns);
  }
  place.start_ns = latest;
  for (std::size_t member = 1; member < place.calls.size(); ++member) {
    const CollectiveCall& call = place.calls[member];
    if (call.kind == first.kind && call.count == first.count && call.dtype == first.dtype &&
        call.op == first.op && call.root == first.root && call.groups == first.groups)
      continue;
    return fail({latest, place.members[member],
                 fmt::format("{}{}: rank {} {}, rank {} {}", words_.mismatch,
                             place_text(place, first.label), place.members[member],
                             describe(place, static_cast<int>(member)), place.members[0],
                             describe(place, 0))});
  }
  if (latest - earliest > sim_timeout_ns_)
    fail({earliest + sim_timeout_ns_, place.members[static_cast<std::size_t>(slowest)],
          fmt::format("{}{}: rank {} is {} ms behind, more than {} ms (simulated)", words_.timeout,
                      place_text(place, first.label),
                      place.members[static_cast<std::size_t>(slowest)],
                      (latest - earliest) / 1000000, sim_timeout_ns_ / 1000000)});
}

// Every rank waits for something or has ended, and nothing of it can come: said at once, with what
// each waits for. The library would say it when the first one's time is over.
void Meeting::check_deadlock() {
  const auto live = std::ranges::count(gone_, Gone::kNo);
  if (blocked_.empty() || std::ssize(blocked_) < live) return;
  for (const auto& [rank, blocked] : blocked_)
    if (blocked->missing() >= 0) return;  // it will wake and say so
  nobody_goes_on_ = true;
  changed_.notify_all();
  if (announced_) return;
  const auto first = std::ranges::min_element(
      blocked_, {}, [](const auto& one) { return std::pair(one.second->ready_ns, one.first); });
  std::vector<std::string> waits;
  for (const auto& [rank, blocked] : blocked_)
    if (waits.size() < kNamedRanks)
      waits.push_back(fmt::format("rank {} waits in {}", rank, blocked->what));
  if (blocked_.size() > waits.size())
    waits.push_back(fmt::format("{} more", blocked_.size() - waits.size()));
  fail({first->second->ready_ns, first->first,
        fmt::format("{}deadlock: {}; on the device it ends after {} ms (simulated)", words_.timeout,
                    fmt::join(waits, ", "), sim_timeout_ns_ / 1000000)});
}

void Meeting::wait(std::unique_lock<std::mutex>& lock, int rank, const Wait& wait) {
  const auto deadline = std::chrono::steady_clock::now() + host_timeout_;
  bool is_in_time = true;
  while (is_in_time && !wait.is_over() && !nobody_goes_on_ && wait.missing() < 0) {
    blocked_[rank] = &wait;
    check_deadlock();
    // Taken off the list: something came, perhaps not all of it.
    is_in_time = changed_.wait_until(lock, deadline, [&] {
      return nobody_goes_on_ || wait.missing() >= 0 || !blocked_.contains(rank);
    });
  }
  blocked_.erase(rank);
  if (wait.is_over()) return;
  if (const int lost = wait.missing(); lost >= 0) {
    if (gone_[static_cast<std::size_t>(lost)] == Gone::kReturned)
      fail({wait.ready_ns, lost,
            fmt::format("rank {} has ended; the others are waiting in {}", lost, wait.what)});
  } else if (!nobody_goes_on_) {
    fail({wait.ready_ns, wait.absent(),
          fmt::format("{}rank {} did not reach {}, within {} ms", words_.timeout, wait.absent(),
                      wait.what, host_timeout_.count())});
  }
  throw_failure();
}

// Waits until every member has come; the last one wakes the others.
void Meeting::rendezvous(std::unique_lock<std::mutex>& lock, Place& place, int member) {
  place.here[static_cast<std::size_t>(member)] = true;
  if (++place.arrived == std::ssize(place.members)) {
    place.arrived = 0;
    std::fill(place.here.begin(), place.here.end(), false);
    ++place.round;
    for (const int rank : place.members) blocked_.erase(rank);
    changed_.notify_all();
    return;
  }
  const CollectiveCall& call = place.calls[static_cast<std::size_t>(member)];
  Wait waiting;
  waiting.ready_ns = call.ready_ns;
  waiting.what = fmt::format(
      "{} ({}), collective {}{}", call.groups.empty() ? name(call.kind) : "split", call.label,
      place.collectives, place.name.empty() ? "" : " of group " + place.name);
  waiting.is_over = [&place, round = place.round] { return place.round != round; };
  waiting.absent = [&place] {
    const auto at = std::find(place.here.begin(), place.here.end(), false) - place.here.begin();
    return place.members[static_cast<std::size_t>(at)];
  };
  waiting.missing = [this, &place] {
    for (std::size_t m = 0; m < place.here.size(); ++m)
      if (!place.here[m] && gone_[static_cast<std::size_t>(place.members[m])] != Gone::kNo)
        return place.members[m];
    return -1;
  };
  wait(lock, place.members[static_cast<std::size_t>(member)], waiting);
}

void Meeting::join(Place& place, int member, CollectiveCall call) {
  std::unique_lock lock(mutex_);
  const std::int64_t ready_ns = call.ready_ns;
  throw_if_over(ready_ns);
  place.calls[static_cast<std::size_t>(member)] = std::move(call);
  if (place.arrived + 1 == std::ssize(place.members)) {
    const std::size_t known = failures_.size();
    check_calls(place);
    if (failures_.size() != known) throw_failure();
  }
  rendezvous(lock, place, member);
}

void Meeting::wait_all(Place& place, int member) {
  std::unique_lock lock(mutex_);
  rendezvous(lock, place, member);
}

void Meeting::leave(Place& place, int member) {
  std::unique_lock lock(mutex_);
  if (place.arrived + 1 == std::ssize(place.members)) ++place.collectives;
  rendezvous(lock, place, member);
}

// Both ends are there: the values go over, rounded to the type on the wire.
void Meeting::meet(const Line& line, const End& mine, const End& other, std::string_view label) {
  const bool other_sends = std::get<4>(line);
  const End& from = other_sends ? other : mine;
  const End& to = other_sends ? mine : other;
  const CollectiveBuffer& sent = from.posted->transfer.buffer;
  const CollectiveBuffer& got = to.posted->transfer.buffer;
  const std::int64_t start_ns = std::max(mine.ready_ns, other.ready_ns);
  const std::int64_t apart_ns = start_ns - std::min(mine.ready_ns, other.ready_ns);
  if (sent.count != got.count || sent.dtype != got.dtype)
    return fail({start_ns, to.rank,
                 fmt::format("{}({}, tag {}): rank {} sends {} {} to rank {}, which expects {} {}",
                             words_.mismatch, label, std::get<3>(line), from.rank, sent.count,
                             name(sent.dtype), to.rank, got.count, name(got.dtype))});
  if (apart_ns > sim_timeout_ns_) {
    const int late = mine.ready_ns == start_ns ? mine.rank : other.rank;
    return fail({start_ns - apart_ns + sim_timeout_ns_, late,
                 fmt::format("{}({}, tag {}): rank {} is {} ms behind, more than {} ms (simulated)",
                             words_.timeout, label, std::get<3>(line), late, apart_ns / 1000000,
                             sim_timeout_ns_ / 1000000)});
  }
  std::ranges::transform(sent.values, got.values.begin(),
                         [&](float value) { return round_to(sent.dtype, value); });
  from.posted->start_ns = to.posted->start_ns = start_ns;
  *mine.is_met = *other.is_met = true;
  changed_.notify_all();
}

void Meeting::transfer(const Place& place, int rank, std::int64_t ready_ns,
                       std::vector<Posted>& posted, std::string_view label) {
  std::unique_lock lock(mutex_);
  throw_if_over(ready_ns);
  // Nobody may write to where this rank's values were.
  struct Withdrawal {
    std::map<Line, End>& ends;
    int rank;
    ~Withdrawal() {
      std::erase_if(ends, [&](const auto& end) { return end.second.rank == rank; });
    }
  };
  const Withdrawal withdrawal{waiting_ends_, rank};
  // One flag each, which the other end sets.
  const std::unique_ptr<bool[]> is_met(new bool[posted.size()]());
  for (std::size_t i = 0; i < posted.size(); ++i) {
    const Transfer& one = posted[i].transfer;
    const int from = one.sends ? rank : one.peer, to = one.sends ? one.peer : rank;
    const End mine{rank, ready_ns, &posted[i], &is_met[i]};
    const Line counterpart{&place, from, to, one.tag, !one.sends};
    if (const auto other = waiting_ends_.find(counterpart); other != waiting_ends_.end()) {
      const End end = other->second;
      waiting_ends_.erase(other);
      const std::size_t known = failures_.size();
      meet(counterpart, mine, end, label);
      if (failures_.size() != known) throw_failure();
      blocked_.erase(end.rank);
    } else {
      const bool is_new =
          waiting_ends_.emplace(Line{&place, from, to, one.tag, one.sends}, mine).second;
      if (!is_new)
        fail({ready_ns, rank,
              fmt::format("{}({}, tag {}): rank {} has two transfers of one kind and tag with rank "
                          "{} at once",
                          words_.mismatch, label, one.tag, rank, one.peer)});
      if (!is_new) throw_failure();
    }
  }
  for (std::size_t i = 0; i < posted.size(); ++i) {
    if (is_met[i]) continue;
    const int peer = posted[i].transfer.peer;
    Wait waiting;
    waiting.ready_ns = ready_ns;
    waiting.what = transfer_text(posted[i].transfer, label);
    waiting.is_over = [&is_met, i] { return is_met[i]; };
    waiting.absent = [peer] { return peer; };
    waiting.missing = [this, peer] {
      return gone_[static_cast<std::size_t>(peer)] != Gone::kNo ? peer : -1;
    };
    wait(lock, rank, waiting);
  }
}

void Meeting::leave_for_good(int rank, Gone how) {
  gone_[static_cast<std::size_t>(rank)] = how;
  check_deadlock();
  changed_.notify_all();
}

void Meeting::finished(int rank) {
  const std::lock_guard lock(mutex_);
  leave_for_good(rank, Gone::kReturned);
}

void Meeting::stopped(int rank) {
  const std::lock_guard lock(mutex_);
  leave_for_good(rank, Gone::kFailed);
}

void Meeting::failed(int rank, std::int64_t time_ns, const std::string& text) {
  const std::lock_guard lock(mutex_);
  fail({time_ns, rank, fmt::format("rank {}: {}", rank, text), true});
  leave_for_good(rank, Gone::kFailed);
}

std::optional<RankFailure> Meeting::first_failure() const {
  const std::lock_guard lock(mutex_);
  return announced_;
}

}  // namespace nb
