#include "harness/faults/rank_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace nb {
namespace {

constexpr double kHeartbeat = 30;       // HCCL_DFS_CONFIG cluster_heartbeat
constexpr double kFaultDetection = 20;  // connection_fault_detection_time
constexpr double kSpread = 10;          // of that verdict
constexpr double kRankZeroLonger = 20;  // in a negotiation
constexpr double kLauncherPolls = 5;    // torchrun --monitor-interval
constexpr double kRetries = 30;         // 7 RoCE retries of 4.29 s
constexpr int kSigTerm = -15, kSigKill = -9;

class Planner {
 public:
  Planner(const RankFault& fault, const Limits& limits, Launcher launcher, int ranks,
          const FaultSite& site)
      : fault_(fault), limits_(limits), launcher_(launcher), site_(site) {
    rank_ = static_cast<int>(fault.first_rank());
    out_.ranks.assign(static_cast<std::size_t>(ranks), {0, site.op, site.count, site.dtype, {}});
    out_.first_rank = rank_;
  }

  FaultOutcome run() {
    switch (fault_.kind) {
      case FaultKind::kKill:
        ends_alone(kSigKill, "KILLED", "process killed (injected)");
        out_.finding = fmt::format("the rank without an error; heartbeat LOST({})", rank_);
        break;
      case FaultKind::kExit:
        ends_alone(0, "EXITED", "ended with code 0, its data one batch short (injected)");
        out_.finding = "the rank without an error; it made one step less than the others";
        break;
      case FaultKind::kException:
        ends_alone(1, "EXCEPTION", "KeyError: 'text' (injected)");
        out_.finding = "the first traceback by time";
        break;
      case FaultKind::kOom:
        ends_alone(1, "OOM", site_.device_text);
        out_.finding = "the rank whose own reason is the earliest";
        break;
      case FaultKind::kEcc:
        ends_alone(1, "ECC",
                   limits_.is_hccl ? "NPU function error: HBM MULTI BIT ECC ERROR"
                                   : "CUDA error: uncorrectable ECC error encountered");
        out_.finding = limits_.is_hccl ? "npu-smi info -t ecc" : "nvidia-smi -q -d ECC";
        break;
      case FaultKind::kLate:
        late();
        break;
      case FaultKind::kPort:
        port();
        break;
      case FaultKind::kMismatch:
        mismatch();
        break;
      case FaultKind::kOrder:
        order();
        break;
      case FaultKind::kLink:
        link();
        break;
      case FaultKind::kNan:
        out_.note = fmt::format("rank {} had a NaN in step {}: all ranks have it after that step",
                                rank_, *fault_.step);
        break;
      case FaultKind::kFlip:
        out_.note = fmt::format("rank {}: bit {} of {} flipped in step {}; nothing reports it",
                                rank_, *fault_.bit, fault_.tensor, *fault_.step);
        break;
      case FaultKind::kSlow:
        out_.note = fmt::format("rank {} computes {} times slower from step {}: the others wait",
                                rank_, *fault_.factor, fault_.from);
        break;
      case FaultKind::kSecondBest:
        break;
    }
    settle();
    return std::move(out_);
  }

 private:
  int size() const { return static_cast<int>(out_.ranks.size()); }
  RankEnd& end(int rank) { return out_.ranks[static_cast<std::size_t>(rank)]; }
  bool is_neighbour(int rank) const {
    return rank != rank_ && (rank == (rank_ + 1) % size() || (rank + 1) % size() == rank_);
  }
  void add(int rank, double after_s, std::string code, std::string text, int peer = -1) {
    out_.events.push_back({rank, after_s, std::move(code), std::move(text), peer});
  }
  void first(std::string code, std::string text) {
    out_.stops = true;
    out_.first_code = code;
    out_.first_text = text;
    add(rank_, 0, std::move(code), std::move(text));
  }
  template <class F>
  void others(const F& each) {
    for (int rank = 0; rank < size(); ++rank)
      if (rank != rank_) each(rank);
  }

  std::string exec_text(int peer) const {
    return fmt::format(
        "The wait execution of the Notify register times out. Reason: the Notify register has not "
        "received the record of remote rank:[{}] in {:.0f} s (HCCL_EXEC_TIMEOUT).",
        peer, limits_.exec_s);
  }
  // What ends a wait inside a collective, on the rank that waits.
  void waits_in_collective(int rank, int peer, double from_s = 0) {
    const double limit = limits_.collective_s();
    if (limit == 0) return;
    if (limits_.watchdog_comes_first())
      add(rank, from_s + limit, "WATCHDOG",
          fmt::format("{:.0f} s inside {} #{}", limit, site_.op, site_.number), peer);
    else
      add(rank, from_s + limit, "EI0002", exec_text(peer), peer);
    end(rank).exitcode = limits_.watchdog_comes_first() ? -6 : 1;
  }
  void link_times_out(int rank, double after_s, int peer) {
    add(rank, after_s, "EI0006",
        fmt::format("Getting socket times out. Reason: remoteRank[{}] did not send the data in "
                    "{:.0f} s (HCCL_CONNECT_TIMEOUT).",
                    peer, limits_.connect_s),
        peer);
    end(rank).exitcode = 1;
  }
  // The ranks that wait for a link: those beside r first, the others behind them.
  void links_time_out() {
    others([&](int rank) {
      const bool is_first = is_neighbour(rank);
      const int toward = rank_;
      link_times_out(rank, limits_.connect_s + (is_first ? 0 : kFaultDetection + kSpread), toward);
    });
  }

  // One process of the node has ended with a code other than 0: torchrun ends the rest.
  void launcher_ends_others(double after_s) {
    for (int rank = 0; rank < size(); ++rank) {
      const bool has_ended = std::ranges::any_of(out_.events, [&](const RankEvent& event) {
        return event.rank == rank && event.after_s <= after_s && ends(event);
      });
      std::erase_if(out_.events, [&](const RankEvent& event) {
        return event.rank == rank && event.after_s > after_s;
      });
      if (has_ended) continue;
      add(rank, after_s, "SIGTERM", "ended by the launcher");
      end(rank).exitcode = kSigTerm;
    }
  }
  static bool ends(const RankEvent& event) {
    return event.code != "LOST" && event.code != "STUCK" && event.code != "CQE" &&
           event.code != "CLOSED";
  }

  void ends_alone(int exitcode, const std::string& code, const std::string& text) {
    first(code, text);
    end(rank_).exitcode = exitcode;
    others([&](int rank) {
      if (limits_.is_hccl)
        add(rank, kHeartbeat, "LOST", fmt::format("rank {} sends no heartbeat", rank_), rank_);
      else
        add(rank, 0, "CLOSED", "Connection closed by remote peer", rank_);
      waits_in_collective(rank, rank_);
    });
  }

  void late() {
    const double seconds = *fault_.seconds;
    const double limit =
        fault_.at == LateAt::kStart   ? limits_.is_hccl ? limits_.connect_s : limits_.store_s
        : fault_.at == LateAt::kFirst ? limits_.is_hccl ? limits_.connect_s : limits_.watchdog_s
                                      : limits_.collective_s();
    if (limit == 0 || seconds <= limit) {
      out_.note =
          fmt::format("rank {} was {} s late {}; the others waited", rank_, seconds,
                      fault_.at == LateAt::kStart   ? "at the start"
                      : fault_.at == LateAt::kFirst ? "at the first collective"
                                                    : fmt::format("in step {}", *fault_.step));
      return;
    }
    out_.stops = true;
    out_.first_code = "LATE";
    out_.first_text = fmt::format("{} s late (injected)", seconds);
    end(rank_).launched_s = seconds;
    if (fault_.at == LateAt::kStart) return late_at_start(seconds);
    if (fault_.at == LateAt::kFirst && limits_.is_hccl) {
      out_.finding = "the rank that its neighbours name, or without EI0006";
      links_time_out();
      return link_times_out(rank_, seconds + limits_.connect_s, (rank_ + 1) % size());
    }
    out_.finding = "launch times (timeStamp of opData) apart by more than the limit";
    others([&](int rank) { waits_in_collective(rank, rank_); });
    waits_in_collective(rank_, rank_ == 0 ? 1 : 0, seconds);
  }

  void late_at_start(double seconds) {
    if (!limits_.is_hccl) {
      out_.finding = "the rank without an error";
      return others([&](int rank) {
        add(rank, limits_.store_s, "STORE",
            fmt::format("Timed out after {:.0f} seconds waiting for clients. {}/{} clients joined.",
                        limits_.store_s, size() - 1, size()));
        end(rank).exitcode = 1;
      });
    }
    out_.finding = "the list of rank 0: who never connected";
    const auto is_unanswered = [&](int rank, double after_s) {
      add(rank, after_s, "EI0015",
          fmt::format("TopoExchangeAgent: connect server[10.0.0.1:60000] failed, timeout[{:.0f} s]",
                      limits_.connect_s));
      end(rank).exitcode = 1;
    };
    // Rank 0 asks nobody: it waits for those that ask it. Behind its own lateness they are gone.
    const bool is_server_late = rank_ == 0;
    others([&](int rank) {
      if (rank != 0) is_unanswered(rank, limits_.connect_s);
    });
    const double longer = limits_.connect_s + kRankZeroLonger;
    std::vector<int> connected, missing;
    for (int rank = 0; rank < size(); ++rank)
      (rank != 0 && (is_server_late || rank == rank_) ? missing : connected).push_back(rank);
    add(0, longer + (is_server_late ? seconds : 0), "EI0015",
        fmt::format("topo exchange server get socket timeout! timeout[{:.0f} s], need connect "
                    "rankNum is [{}], connected {} of {}, connected rankinfo [{}]. Failed to "
                    "connect agent[{},].",
                    longer, size(), connected.size(), size(), fmt::join(connected, ","),
                    fmt::join(missing, ",")));
    end(0).exitcode = 1;
    if (!is_server_late) is_unanswered(rank_, seconds + limits_.connect_s);
  }

  void port() {
    if (fault_.which == BusyPort::kDevice) {
      first(
          "EI0019",
          "listen on ip[192.168.1.1] and specific port[16666] fail, socket type[1], hcclRet -> 19");
      end(rank_).exitcode = 1;
      out_.finding = "the rank with EI0019; its neighbours wait for a link";
      return links_time_out();
    }
    rank_ = out_.first_rank = 0;
    if (fault_.which == BusyPort::kHost)
      first("EI0019",
            "listen on ip[10.0.0.1] and specific port[60000] fail, socket type[2]; "
            "StartRootNetwork failed, ret[7]");
    else
      first("EADDRINUSE",
            "The server socket has failed to listen on any local network address. port: 29500, "
            "errno: 98, Address already in use");
    end(0).exitcode = 1;
    out_.finding = "rank 0, which has the only own reason";
    others([&](int rank) {
      add(rank, limits_.store_s, "STORE",
          fmt::format("The client socket has timed out after {:.0f}ms while trying to connect to "
                      "(10.0.0.1, 29500).",
                      limits_.store_s * 1000),
          0);
      end(rank).exitcode = 1;
    });
  }

  std::string other_op() const { return site_.op == "all_gather" ? "all_reduce" : "all_gather"; }
  std::string wrong_count() const { return std::to_string(wrong_elements()); }
  std::int64_t wrong_elements() const { return std::max<std::int64_t>(1, site_.count / 2); }

  void mismatch() {
    struct Values {
      std::string name, right, wrong;
    };
    const Values value =
        fault_.what == Mismatched::kCount
            ? Values{"count", std::to_string(site_.count), wrong_count()}
        : fault_.what == Mismatched::kDtype
            ? Values{"dataType", site_.dtype, site_.dtype == "bf16" ? "fp32" : "bf16"}
            : Values{"op", site_.op, other_op()};
    if (fault_.what == Mismatched::kCount) end(rank_).count = wrong_elements();
    if (fault_.what == Mismatched::kOp) end(rank_).op = other_op();
    if (fault_.what == Mismatched::kDtype) end(rank_).dtype = value.wrong;
    out_.stops = true;
    out_.first_text = fmt::format("{} {} where the others have {} (injected)", value.name,
                                  value.wrong, value.right);
    const auto differs = [&](int rank, const std::string& local, const std::string& remote,
                             int peer) {
      add(rank, 0, "EI0005",
          fmt::format("The arguments for collective communication are inconsistent between "
                      "ranks:parameter {}, local end {}, remote end {}",
                      value.name, local, remote),
          peer);
      end(rank).exitcode = 1;
    };
    out_.finding = "both values: those of most ranks are right";
    if (!fault_.step && limits_.is_hccl) {
      out_.first_code = "EI0005";
      differs(rank_, value.wrong, value.right, (rank_ + 1) % size());
      return others([&](int rank) {
        if (is_neighbour(rank))
          differs(rank, value.right, value.wrong, rank_);
        else
          link_times_out(rank, limits_.connect_s,
                         is_neighbour((rank + 1) % size()) ? (rank + 1) % size()
                                                           : (rank + size() - 1) % size());
      });
    }
    // Links exist: nobody compares any more.
    out_.first_code = "MISMATCH";
    out_.finding = "tags and counts of the opData lines";
    all_wait();
  }

  void order() {
    out_.stops = true;
    out_.first_code = "ORDER";
    out_.first_text =
        fmt::format("in {} while the others are in {} (injected)", other_op(), site_.op);
    out_.finding = "the rank whose tag differs";
    end(rank_).op = other_op();
    if (limits_.is_hccl && limits_.exec_s > 0)
      others([&](int rank) {
        add(rank, limits_.exec_s / 2, "STUCK", fmt::format("rank {} does not leave its op", rank_),
            rank_);
      });
    all_wait();
  }

  void all_wait() {
    for (int rank = 0; rank < size(); ++rank)
      waits_in_collective(rank, rank != rank_ ? rank_ : rank_ == 0 ? 1 : 0);
  }

  void link() {
    const int peer = static_cast<int>(fault_.peer);
    if (fault_.state == LinkState::kSlow) {
      out_.note = fmt::format("the link of ranks {} and {} is {} times slower from step {}", rank_,
                              peer, *fault_.factor, fault_.from);
      return;
    }
    out_.stops = true;
    out_.first_code = limits_.is_hccl ? "EI0013" : "NET_IB";
    out_.first_text = fmt::format("link {}-{} down (injected)", rank_, peer);
    out_.finding = "localInfo and remoteInfo of the CQE";
    for (int rank = 0; rank < size(); ++rank) {
      const bool is_end = rank == rank_ || rank == peer;
      if (is_end) {
        const int other = rank == rank_ ? peer : rank_;
        add(rank, kRetries, out_.first_code,
            limits_.is_hccl
                ? fmt::format("error cqe status[12], localInfo rank {}, remoteInfo rank {}", rank,
                              other)
                : fmt::format("NET/IB : Got completion from peer rank {} with status=12", other),
            other);
        end(rank).exitcode = 1;
        continue;
      }
      if (limits_.is_hccl)
        add(rank, kRetries, "CQE", fmt::format("rank {} reports an error CQE", rank_), rank_);
      waits_in_collective(rank, rank_);
    }
  }

  void settle() {
    std::ranges::stable_sort(out_.events, {},
                             [](const RankEvent& e) { return std::pair(e.after_s, e.rank); });
    if (!out_.stops) return;
    if (launcher_ == Launcher::kTorchrun) {
      double at = -1;
      for (const RankEvent& event : out_.events)
        if (at < 0 && ends(event) && end(event.rank).exitcode.value_or(0) != 0) at = event.after_s;
      if (at >= 0) launcher_ends_others(at + kLauncherPolls);
      std::ranges::stable_sort(out_.events, {},
                               [](const RankEvent& e) { return std::pair(e.after_s, e.rank); });
    }
    for (int rank = 0; rank < size(); ++rank)
      out_.never_ends = out_.never_ends || !end(rank).exitcode;
    // Most ranks' last word: a late rank's own comes when the others have gone.
    std::map<int, double> last;
    for (const RankEvent& event : out_.events)
      if (ends(event) && (event.rank != rank_ || size() == 1)) last[event.rank] = event.after_s;
    for (const auto& [rank, after_s] : last) out_.ends_s = std::max(out_.ends_s, after_s);
  }

  const RankFault& fault_;
  const Limits& limits_;
  const Launcher launcher_;
  const FaultSite& site_;
  int rank_ = 0;
  FaultOutcome out_;
};

}  // namespace

FaultOutcome outcome_of(const RankFault& fault, const Limits& limits, Launcher launcher, int ranks,
                        const FaultSite& site) {
  return Planner(fault, limits, launcher, ranks, site).run();
}

std::string ranges_text(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", ranks[i]);
    if (end - i > 1) text += fmt::format("-{}", ranks[end - 1]);
    i = end;
  }
  return text;
}

std::string seen_text(const FaultOutcome& outcome) {
  std::map<std::string, std::vector<int>> ranks_of;
  std::vector<bool> reports(outcome.ranks.size());
  for (const RankEvent& event : outcome.events) {
    const bool is_seen = event.code != "LOST" && event.code != "STUCK" && event.code != "CQE" &&
                         event.code != "KILLED" && event.code != "EXITED" &&
                         event.code != "SIGTERM";
    if (!is_seen) continue;
    std::vector<int>& ranks = ranks_of[event.code];
    if (std::ranges::find(ranks, event.rank) == ranks.end()) ranks.push_back(event.rank);
    reports[static_cast<std::size_t>(event.rank)] = true;
  }
  std::string text;
  for (const auto& [code, ranks] : ranks_of)
    text += fmt::format("{}{} on {} rank{}", text.empty() ? "" : ", ", code, ranks.size(),
                        ranks.size() == 1 ? "" : "s");
  std::vector<int> silent;
  for (std::size_t rank = 0; rank < reports.size(); ++rank)
    if (!reports[rank]) silent.push_back(static_cast<int>(rank));
  if (!silent.empty())
    text += fmt::format("{}nothing on rank{} {}", text.empty() ? "" : ", ",
                        silent.size() == 1 ? "" : "s", ranges_text(silent));
  return text;
}

}  // namespace nb
