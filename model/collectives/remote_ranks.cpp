#include "model/collectives/remote_ranks.hpp"

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "harness/base/check.hpp"
#include "model/collectives/message.hpp"
#include "model/collectives/rank_communicator.hpp"

namespace nb {
namespace {

// What a rank sends, and what comes back.
enum class Sent : char {
  kCall = 'C',
  kTransfer = 'T',
  kSplit = 'S',
  kWork = 'W',    // what it would do, in common with others
  kWorked = 'R',  // what came of what it was given of that
  kDone = 'D',
  kFailed = 'F'
};
enum class Answer : char { kDone = 'D', kWork = 'W', kCollectiveFailure = 'C', kException = 'X' };

MessageWriter message_of(const RemoteRanks& remote, int rank, Sent what) {
  MessageWriter message = remote.message();
  message.put_text(remote.news ? remote.news(rank) : "").put(what);
  return message;
}

// In the rank's process. Its Answer is kDone or kWork, and is read; what else comes is thrown.
struct Answered {
  Answer how = Answer::kDone;
  Received received;
};
Answered receive_answer(const RemoteRanks& remote, int rank) {
  Received received{*remote.processes.receive(0, rank + 1, std::nullopt)};
  MessageReader answer(received.text());
  const auto how = answer.get<Answer>();
  if (how == Answer::kCollectiveFailure) {
    const int failed = answer.get<int>();
    throw CollectiveFailure(failed, std::string(answer.get_text()));
  }
  if (how == Answer::kException) throw std::runtime_error(std::string(answer.get_text()));
  received.begin = sizeof how;
  return {how, std::move(received)};
}

// The rank's side of the work that all have in common. What it is to do, the leading process says.
class RemoteWork final : public CommonWork {
 public:
  RemoteWork(const RemoteRanks& remote, int rank) : remote_(remote), rank_(rank) {}

  void run(std::span<const std::string> kinds, std::span<const std::span<float>> values,
           std::size_t at_once, const Work& work) override {
    MessageWriter message = message_of(remote_, rank_, Sent::kWork);
    message.put(static_cast<std::uint64_t>(at_once)).put(static_cast<std::uint64_t>(values.size()));
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      bytes += 2 * sizeof(std::uint64_t) + kinds[i].size() + values[i].size_bytes();
    message.reserve(bytes);
    for (std::size_t i = 0; i < values.size(); ++i)
      message.put_text(kinds[i]).put_floats(values[i]);
    remote_.send(rank_, message);
    for (;;) {
      const Answered answered = receive_answer(remote_, rank_);
      MessageReader answer(answered.received.text());
      std::vector<std::size_t> places(answer.get<std::uint64_t>());
      for (std::size_t& place : places) place = answer.get<std::uint64_t>();
      if (answered.how == Answer::kDone) {  // by others
        for (const std::size_t place : places) answer.get_floats(values[place]);
        return;
      }
      work(places);
      MessageWriter worked = message_of(remote_, rank_, Sent::kWorked);
      for (const std::size_t place : places) worked.put_floats(values[place]);
      remote_.send(rank_, worked);
    }
  }

 private:
  const RemoteRanks& remote_;
  int rank_;
};

// The rank's side of a group of the World.
class RemoteCommunicator final : public Communicator {
 public:
  // number: of the group, as the leading process counts this rank's.
  RemoteCommunicator(Device* device, int member, int size, int rank, std::int32_t number,
                     const RemoteRanks& remote, double link_slowdown,
                     const Communicator* parent = nullptr)
      : Communicator(device, member, size),
        rank_of_world_(rank),
        number_(number),
        remote_(remote),
        link_slowdown_(link_slowdown) {
    if (parent != nullptr) count_with(*parent);
  }

  void all_reduce(CollectiveBuffer x, Reduce op, std::string_view label) override {
    call(OpKind::kAllReduce, x, x, x.count, op, 0, label);
  }
  void reduce_scatter(CollectiveBuffer input, CollectiveBuffer output, Reduce op,
                      std::string_view label) override {
    call(OpKind::kReduceScatter, input, output, input.count, op, 0, label);
  }
  void all_gather(CollectiveBuffer input, CollectiveBuffer output,
                  std::string_view label) override {
    call(OpKind::kAllGather, input, output, output.count, Reduce::kSum, 0, label);
  }
  void broadcast(CollectiveBuffer x, int root, std::string_view label) override {
    call(OpKind::kBroadcast, x, x, x.count, Reduce::kSum, root, label);
  }
  void all_to_all(CollectiveBuffer input, CollectiveBuffer output,
                  std::string_view label) override {
    call(OpKind::kAllToAll, input, output, input.count, Reduce::kSum, 0, label);
  }
  void barrier(std::string_view label) override {
    const CollectiveBuffer none(0, DType::kFp32);
    call(OpKind::kBarrier, none, none, 0, Reduce::kSum, 0, label);
  }

  void transfer(std::span<const Transfer> transfers, std::string_view label) override {
    MessageWriter message = begin(Sent::kTransfer, label);
    message.put(static_cast<std::uint64_t>(transfers.size()));
    for (const Transfer& one : transfers) {
      const CollectiveBuffer& buffer = one.buffer;
      message.put(one.sends).put(one.peer).put(one.tag).put(buffer.dtype).put(buffer.count);
      message.put_floats(one.sends ? buffer.values : std::span<float>());
    }
    const Received received = ask(message);
    MessageReader answer(received.text());
    for (const Transfer& one : transfers) {
      const CollectiveBuffer& buffer = one.buffer;
      charge(OpKind::kSendReceive, buffer.count, buffer.dtype, label, answer.get<std::int64_t>());
      if (one.sends)
        count_sent(OpKind::kSendReceive,
                   static_cast<std::uint64_t>(buffer.count) * storage_bytes(buffer.dtype));
      else
        answer.get_floats(buffer.values);
    }
  }

  std::unique_ptr<Communicator> split(std::span<const std::vector<int>> groups,
                                      std::string_view name) override {
    MessageWriter message = begin(Sent::kSplit, name);
    message.put(static_cast<std::uint64_t>(groups.size()));
    for (const std::vector<int>& group : groups) {
      message.put(static_cast<std::uint64_t>(group.size()));
      for (const int member : group) message.put(member);
    }
    const Received received = ask(message);
    MessageReader answer(received.text());
    const auto number = answer.get<std::int32_t>();
    if (number < 0) return nullptr;
    const auto member = answer.get<int>(), members = answer.get<int>();
    return std::make_unique<RemoteCommunicator>(&device(), member, members, rank_of_world_, number,
                                                remote_, link_slowdown_, this);
  }

 private:
  MessageWriter begin(Sent what, std::string_view label) {
    MessageWriter message = message_of(remote_, rank_of_world_, what);
    message.put(number_).put(device().collective_ready_ns()).put_text(label);
    return message;
  }

  Received ask(const MessageWriter& message) {
    remote_.send(rank_of_world_, message);
    return receive_answer(remote_, rank_of_world_).received;
  }

  // count: of the whole vector.
  void call(OpKind kind, const CollectiveBuffer& input, const CollectiveBuffer& output,
            std::int64_t count, Reduce op, int root, std::string_view label) {
    MessageWriter message = begin(Sent::kCall, label);
    message.put(kind).put(op).put(root).put(input.dtype).put(output.dtype).put(output.count);
    message.put_floats(input.values);
    const Received received = ask(message);
    MessageReader answer(received.text());
    const auto start_ns = answer.get<std::int64_t>();
    answer.get_floats(output.values);
    if (size() > 1)
      count_sent(kind, static_cast<std::uint64_t>(count) * storage_bytes(input.dtype));
    charge(kind, count, input.dtype, label, start_ns);
  }

  void charge(OpKind kind, std::int64_t count, DType dtype, std::string_view label,
              std::int64_t start_ns) {
    charge_collective(device(), size(), link_slowdown_, kind, count, dtype, label, start_ns);
  }

  int rank_of_world_;
  std::int32_t number_;
  const RemoteRanks& remote_;
  double link_slowdown_;
};

// The clock of a rank that is elsewhere: what it was when the rank called, and when its collectives
// began.
struct RemoteClock {
  std::int64_t ready_ns = 0;
  std::vector<std::int64_t> starts_ns;
};

// Of the thread that stands for a rank.
class StandIn final : public RankCommunicator {
 public:
  StandIn(Device* device, int member, WorldShared* shared, Meeting::Place* place,
          RemoteClock& clock, const Communicator* parent = nullptr)
      : RankCommunicator(device, member, shared, place, parent), clock_(clock) {}

 private:
  std::int64_t ready_ns() const override { return clock_.ready_ns; }
  void charge(OpKind, std::int64_t, DType, std::string_view, std::int64_t start_ns) override {
    clock_.starts_ns.push_back(start_ns);
  }
  std::unique_ptr<Communicator> group(int member, Meeting::Place& place) override {
    return std::make_unique<StandIn>(&device(), member, &shared(), &place, clock_, this);
  }
  RemoteClock& clock_;
};

class Server {
 public:
  Server(const RemoteRanks& remote, int rank, Device& device, WorldShared& shared,
         CommonWork& common, std::chrono::milliseconds limit)
      : remote_(remote), rank_(rank), limit_(limit), meeting_(shared.meeting), common_(common) {
    groups_.push_back(
        std::make_unique<StandIn>(&device, rank, &shared, &shared.meeting.all_ranks(), clock_));
  }

  // One message; false: it was the last.
  bool take() {
    const Received received = remote_.receive(rank_, limit_);
    MessageReader message(received.text());
    const Sent what = begin(message);
    if (what != Sent::kDone) return answer(what, message);
    if (remote_.unpack) remote_.unpack(rank_, message.rest());
    meeting_.finished(rank_);
    return false;
  }

 private:
  struct RankFailed {
    std::int64_t time_ns = 0;
    std::string why;
  };

  Sent begin(MessageReader& message) {
    if (const std::string_view news = message.get_text(); !news.empty()) remote_.hear(rank_, news);
    return message.get<Sent>();
  }

  static void pass_failure(MessageReader& message) {
    const auto time_ns = message.get<std::int64_t>();
    throw RankFailed{time_ns, std::string(message.get_text())};
  }

  bool answer(Sent what, MessageReader& message) {
    try {
      if (what == Sent::kFailed) pass_failure(message);
      if (what == Sent::kWork) {
        share_work(message);
        return true;
      }
      Communicator& group = *groups_.at(static_cast<std::size_t>(message.get<std::int32_t>()));
      clock_.ready_ns = message.get<std::int64_t>();
      clock_.starts_ns.clear();
      const std::string label(message.get_text());
      MessageWriter answer;
      answer.put(Answer::kDone);
      if (what == Sent::kCall)
        call(group, label, message, answer);
      else if (what == Sent::kTransfer)
        transfer(group, label, message, answer);
      else
        split(group, label, message, answer);
      remote_.send(rank_, answer);
      return true;
    } catch (const RankFailed& failure) {
      meeting_.failed(rank_, failure.time_ns, failure.why);
      return false;
    } catch (const CollectiveFailure& failure) {
      MessageWriter answer;
      answer.put(Answer::kCollectiveFailure).put(failure.rank()).put_text(failure.what());
      remote_.send(rank_, answer);
      meeting_.stopped(rank_);
      return false;
    } catch (const std::exception& failure) {  // as if the rank had thrown it: it will
      if (remote_.processes.has_lost()) throw;
      MessageWriter answer;
      answer.put(Answer::kException).put_text(failure.what());
      remote_.send(rank_, answer);
      return true;
    }
  }

  // Takes part in the work for the rank, which does what falls to it.
  void share_work(MessageReader& message) {
    const auto at_once = message.get<std::uint64_t>();
    std::vector<std::string> kinds(message.get<std::uint64_t>());
    worked_.resize(kinds.size());
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      kinds[i] = message.get_text();
      worked_[i].resize(message.next_count());
      message.get_floats(worked_[i]);
    }
    const auto put_places = [](MessageWriter& to, std::span<const std::size_t> places) {
      to.put(static_cast<std::uint64_t>(places.size()));
      for (const std::size_t place : places) to.put(static_cast<std::uint64_t>(place));
    };
    std::vector<bool> is_of_rank(worked_.size());
    const std::vector<std::span<float>> spans(worked_.begin(), worked_.end());
    common_.run(kinds, spans, at_once, [&](std::span<const std::size_t> some) {
      MessageWriter task;
      put_places(task.put(Answer::kWork), some);
      remote_.send(rank_, task);
      const Received received = remote_.receive(rank_, limit_);
      MessageReader worked(received.text());
      if (begin(worked) == Sent::kFailed) pass_failure(worked);
      for (const std::size_t place : some) {
        worked.get_floats(worked_[place]);
        is_of_rank[place] = true;
      }
    });
    std::vector<std::size_t> of_others;
    for (std::size_t i = 0; i < worked_.size(); ++i)
      if (!is_of_rank[i]) of_others.push_back(i);
    MessageWriter answer;
    put_places(answer.put(Answer::kDone), of_others);
    for (const std::size_t place : of_others) answer.put_floats(worked_[place]);
    remote_.send(rank_, answer);
  }

  void call(Communicator& group, const std::string& label, MessageReader& message,
            MessageWriter& answer) {
    const auto kind = message.get<OpKind>();
    const auto op = message.get<Reduce>();
    const int root = message.get<int>();
    const auto in = message.get<DType>(), out = message.get<DType>();
    output_.resize(static_cast<std::size_t>(message.get<std::int64_t>()));
    input_.resize(message.next_count());
    message.get_floats(input_);
    const CollectiveBuffer input(input_, in), output(output_, out);
    std::span<const float> result = output_;
    switch (kind) {
      case OpKind::kReduceScatter:
        group.reduce_scatter(input, output, op, label);
        break;
      case OpKind::kAllGather:
        group.all_gather(input, output, label);
        break;
      case OpKind::kAllToAll:
        group.all_to_all(input, output, label);
        break;
      case OpKind::kBarrier:
        group.barrier(label);
        break;
      default:
        NB_CHECK(kind == OpKind::kAllReduce || kind == OpKind::kBroadcast, "[remote_ranks] {}",
                 name(kind));
        if (kind == OpKind::kAllReduce)
          group.all_reduce(input, op, label);
        else
          group.broadcast(input, root, label);
        result = input_;
    }
    answer.put(clock_.starts_ns.at(0)).put_floats(result);
  }

  void transfer(Communicator& group, const std::string& label, MessageReader& message,
                MessageWriter& answer) {
    const auto count = message.get<std::uint64_t>();
    std::vector<std::vector<float>> values(count);
    std::vector<Transfer> transfers;
    for (std::vector<float>& own : values) {
      const bool sends = message.get<bool>();
      const int peer = message.get<int>(), tag = message.get<int>();
      const auto dtype = message.get<DType>();
      own.resize(static_cast<std::size_t>(message.get<std::int64_t>()));
      message.get_floats(sends ? std::span(own) : std::span<float>());
      transfers.push_back({sends, peer, {own, dtype}, tag});
    }
    group.transfer(transfers, label);
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      answer.put(clock_.starts_ns.at(i));
      if (!transfers[i].sends) answer.put_floats(values[i]);
    }
  }

  void split(Communicator& group, const std::string& label, MessageReader& message,
             MessageWriter& answer) {
    std::vector<std::vector<int>> groups(message.get<std::uint64_t>());
    for (std::vector<int>& one : groups) {
      one.resize(message.get<std::uint64_t>());
      for (int& member : one) member = message.get<int>();
    }
    std::unique_ptr<Communicator> own = group.split(groups, label);
    answer.put(own == nullptr ? std::int32_t{-1} : static_cast<std::int32_t>(groups_.size()));
    if (own == nullptr) return;
    answer.put(own->rank()).put(own->size());
    groups_.push_back(std::move(own));
  }

  const RemoteRanks& remote_;
  int rank_;
  std::chrono::milliseconds limit_;
  Meeting& meeting_;
  CommonWork& common_;
  RemoteClock clock_;
  std::vector<std::unique_ptr<Communicator>> groups_;  // all ranks, then in the order of splits
  std::vector<float> input_, output_;
  std::vector<std::vector<float>> worked_;
};

void send_failure(const RemoteRanks& remote, int rank, std::int64_t time_ns, std::string_view why) {
  MessageWriter message = message_of(remote, rank, Sent::kFailed);
  remote.send(rank, message.put(time_ns).put_text(why));
}

}  // namespace

// Answers have no number: a rank that has left a training waits for none.
MessageWriter RemoteRanks::message() const {
  MessageWriter message;
  if (!processes.leads()) message.put(processes.training());
  return message;
}

void RemoteRanks::send(int rank, const MessageWriter& message) const {
  processes.send(processes.leads() ? process_of(rank) : 0, rank + 1, message.bytes());
}

Received RemoteRanks::receive(int rank, std::chrono::milliseconds limit) const {
  for (;;) {
    auto bytes = processes.receive(process_of(rank), rank + 1, limit);
    if (!bytes) {
      processes.lose();
      throw std::runtime_error(fmt::format("nothing came from process {} within {} s",
                                           process_of(rank), limit.count() / 1000));
    }
    MessageReader message(*bytes);
    if (message.get<std::uint64_t>() != processes.training()) continue;
    return {std::move(*bytes), sizeof(std::uint64_t)};
  }
}

void run_remote_rank(const RemoteRanks& remote, int rank, Device& device, double link_slowdown,
                     const std::function<void(Communicator&)>& body) {
  RemoteCommunicator communicator(&device, rank, remote.ranks, rank, 0, remote, link_slowdown);
  RemoteWork common(remote, rank);
  const CommonWork::Scope scope(device.executes() ? &common : nullptr);
  const auto failed = [&](std::string_view why) {
    send_failure(remote, rank, device.collective_ready_ns(), why);
  };
  try {
    body(communicator);
    MessageWriter message = message_of(remote, rank, Sent::kDone);
    if (remote.pack) remote.pack(rank, message);
    remote.send(rank, message);
  } catch (const CollectiveFailure&) {  // the leading process knows it
  } catch (const std::exception& e) {
    failed(e.what());
  } catch (...) {
    failed("an exception that is no std::exception");
  }
}

void serve_rank(const RemoteRanks& remote, int rank, Device& device, WorldShared& shared,
                CommonWork& common, std::chrono::milliseconds limit) {
  Server server(remote, rank, device, shared, common, limit);
  try {
    while (server.take()) {
    }
  } catch (const std::exception& e) {
    shared.meeting.failed(rank, device.collective_ready_ns(), e.what());
  }
}

Result<void> end_of_run(const RemoteRanks& remote, const std::string& failure) {
  std::string first = failure;
  if (remote.processes.leads())
    remote.processes.tell(JobNews::kRunEnd, failure);
  else
    first = remote.processes.hear(JobNews::kRunEnd);
  if (!first.empty()) return run_error(first);
  return {};
}

void tell_unable(const RemoteRanks& remote, const std::string& why) {
  for (int rank = 0; rank < remote.ranks; ++rank)
    if (remote.is_here(rank)) send_failure(remote, rank, 0, why);
}

}  // namespace nb
