// Ranks of a World in several processes. They meet in the leading one: there a thread stands for
// every rank that runs elsewhere, makes the calls that the rank sends and sends back what came of
// them. So sums, their order, simulated times and failures are those of ranks that are threads of
// one process, whatever the processes' speed.
//
// All values of a collective go through the leading process, and so does the work that ranks have
// in common (harness/base/common_work.hpp): what each would do, and what came of it.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "harness/base/common_work.hpp"
#include "harness/base/result.hpp"
#include "model/collectives/communicator.hpp"
#include "model/collectives/message.hpp"
#include "model/collectives/processes.hpp"

namespace nb {

struct WorldShared;

// A message whose first bytes have been read.
struct Received {
  std::string bytes;
  std::size_t begin = 0;
  std::string_view text() const { return std::string_view(bytes).substr(begin); }
};

struct RemoteRanks {
  Processes& processes;
  int ranks = 1;  // of the World; a multiple of processes.count()
  // In the rank's process, before each of its calls: what the leading one is to hear first, empty:
  // nothing. And there, on the thread that stands for the rank.
  std::function<std::string(int rank)> news = {};
  std::function<void(int rank, std::string_view news)> hear = {};
  // The same when its body has returned.
  std::function<void(int rank, MessageWriter& to)> pack = {};
  std::function<void(int rank, std::string_view packed)> unpack = {};

  // Neighbouring ranks are in one process.
  int ranks_each() const { return ranks / processes.count(); }
  int process_of(int rank) const { return rank / ranks_each(); }
  bool is_here(int rank) const { return process_of(rank) == processes.index(); }
  int on_this_machine() const { return ranks_each() * processes.on_this_machine(); }

  // Between a rank's process and the leading one, of this training: a message that is to be
  // written, and what is received of it.
  MessageWriter message() const;
  void send(int rank, const MessageWriter& message) const;
  Received receive(int rank, std::chrono::milliseconds limit) const;  // throws when it is over
};

// body on a rank of this process, which does not lead; a failure is told to the leading one.
void run_remote_rank(const RemoteRanks& remote, int rank, Device& device, double link_slowdown,
                     const std::function<void(Communicator&)>& body);
// In the place of a rank's body that runs elsewhere. device: what the rank's is like. common: of
// all ranks.
void serve_rank(const RemoteRanks& remote, int rank, Device& device, WorldShared& shared,
                CommonWork& common, std::chrono::milliseconds limit);
// The first failure ("": none) of the leading process, for all.
Result<void> end_of_run(const RemoteRanks& remote, const std::string& failure);
// To the leading process from one that cannot run its ranks of a training.
void tell_unable(const RemoteRanks& remote, const std::string& why);

}  // namespace nb
