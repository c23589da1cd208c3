#include "harness/faults/rank_logs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nb {
namespace {

constexpr int kFirstPid = 4300;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::string_view kHost = "10.0.0.1";

// 2026-01-01 00:00:00 and so much later. A training of more than a month is none of ours.
struct Moment {
  int day = 1, hour = 0, minute = 0, second = 0;
  int ms = 0, us = 0;
  explicit Moment(std::int64_t ns) {
    const std::int64_t s = ns / kSecond;
    day = static_cast<int>(std::min<std::int64_t>(31, 1 + s / 86400));
    hour = static_cast<int>(s / 3600 % 24);
    minute = static_cast<int>(s / 60 % 60);
    second = static_cast<int>(s % 60);
    ms = static_cast<int>(ns / 1'000'000 % 1000);
    us = static_cast<int>(ns / 1000 % 1000);
  }
  std::string to_seconds(char between) const {
    return fmt::format("2026-01-{:02}{}{:02}:{:02}:{:02}", day, between, hour, minute, second);
  }
  std::string plog() const { return fmt::format("{}.{:03}.{:03}", to_seconds('-'), ms, us); }
  std::string glog() const {  // of torch
    return fmt::format("01{:02} {:02}:{:02}:{:02}.{:03}{:03}", day, hour, minute, second, ms, us);
  }
  std::string c_time() const {
    constexpr const char* kDays[] = {"Wed", "Thu", "Fri", "Sat", "Sun", "Mon", "Tue"};
    return fmt::format("{} Jan {:2} {:02}:{:02}:{:02} 2026", kDays[day % 7], day, hour, minute,
                       second);
  }
};

std::string tag_of(const std::string& op) {
  const char* name = op == "all_gather"       ? "AllGather"
                     : op == "reduce_scatter" ? "ReduceScatter"
                     : op == "broadcast"      ? "Broadcast"
                                              : "AllReduce";
  return fmt::format("{}_{}%eth0_60000_0", name, kHost);
}

std::string capitals_of(const std::string& op) {
  return op == "all_gather"       ? "ALLGATHER"
         : op == "reduce_scatter" ? "_REDUCE_SCATTER_BASE"
         : op == "broadcast"      ? "BROADCAST"
                                  : "ALLREDUCE";
}

class Writer {
 public:
  explicit Writer(const FailureStory& story) : story_(story) {}

  std::map<std::string, std::string> run() {
    for (int rank = 0; rank < ranks(); ++rank) begin(rank);
    for (const RankEvent& event : story_.outcome.events) tell(event);
    if (story_.launcher == Launcher::kTorchrun) summary();
    write_environment();
    return std::move(files_);
  }

 private:
  int ranks() const { return static_cast<int>(story_.outcome.ranks.size()); }
  const RankEnd& end(int rank) const {
    return story_.outcome.ranks[static_cast<std::size_t>(rank)];
  }
  Moment at(double after_s) const {
    return Moment(story_.time_ns + static_cast<std::int64_t>(std::llround(after_s * 1e9)));
  }
  static int pid(int rank) { return kFirstPid + rank; }
  std::string heading() const {
    return fmt::format("# npubench emulated: no such process ran; {}, a planted fault\n",
                       story_.device);
  }
  std::string& file(const std::string& name) {
    const auto [at, is_new] = files_.try_emplace(name);
    if (is_new) at->second = heading();
    return at->second;
  }
  std::string& screen(int rank) { return file(fmt::format("rank-{}.log", rank)); }
  std::string& plog(const char* kind, int rank) {
    return file(fmt::format("plog/{}/plog-{}_20260101000000000.log", kind, pid(rank)));
  }

  // What was there before: who this process is, and how far it came.
  void begin(int rank) {
    std::string& text = screen(rank);
    text += fmt::format("[INFO] {} (PID:{}, Device:{}, RankID:{}) started\n",
                        Moment(0).to_seconds('-'), pid(rank), rank, rank);
    const bool is_short =
        story_.fault.kind == FaultKind::kExit && rank == story_.outcome.first_rank;
    if (story_.site.step > 0)
      text += fmt::format("{} step {}/{} done\n", at(0).to_seconds(' '), story_.site.step - 1,
                          story_.steps);
    if (is_short)
      text += fmt::format("{} no more data after step {}; training finished\n",
                          at(0).to_seconds(' '), story_.site.step - 1);
  }

  void wrapped(const RankEvent& event, const std::string& more = "") {
    const Moment when = at(event.after_s);
    screen(event.rank) += fmt::format(
        "[ERROR] {} (PID:{}, Device:{}, RankID:{}) ERR02200 DIST call hccl api failed.\n"
        "{}: [PID: {}] {} {}{}\n",
        when.to_seconds('-'), pid(event.rank), event.rank, event.rank, event.code, pid(event.rank),
        when.plog(), event.text, more);
  }
  void log(const char* kind, const char* level, const RankEvent& event, const char* source,
           const char* stage, const std::string& text) {
    plog(kind, event.rank) +=
        fmt::format("[{}] HCCL({},python3):{} [{}:1] [{}]{}{}\n", level, pid(event.rank),
                    at(event.after_s).plog(), source, pid(event.rank), stage, text);
  }
  static std::string place(int rank) { return fmt::format("{}/{}", kHost, rank); }

  // What the heartbeat knows of another rank is printed with the wait's end.
  void location(const RankEvent& event) {
    for (const RankEvent& known : story_.outcome.events) {
      const char* type = known.code == "CQE"     ? "Error cqe Occurred"
                         : known.code == "STUCK" ? "Stuck Occurred"
                         : known.code == "LOST"  ? "Heartbeat Lost Occurred"
                                                 : nullptr;
      if (type == nullptr || known.rank != event.rank) continue;
      log("debug", "ERROR", event, "heartbeat.cc", "[TaskExecStage][HeartbeatAbnormal]",
          fmt::format("Cluster Exception Location[IP/ID]:[{}], Arrival Time:[{}], Discoverer:[{}], "
                      "ExceptionType:[{}], Possible Reason:{}",
                      place(known.peer), at(known.after_s).c_time(), place(known.rank), type,
                      known.code == "LOST" ? "1. The process has exited" : "1. See its own log"));
    }
  }

  void op_data(const RankEvent& event) {
    const RankEnd& waiting = end(event.rank);
    log("debug", "ERROR", event, "task_exception.cc", "[TaskExecStage][Timeout]",
        fmt::format("opData information is timeStamp:[{}], deviceId[{}], index[{}], count[{}], "
                    "reduceType[sum], dataType[{}], tag[{}]",
                    at(waiting.launched_s).plog(), event.rank, story_.site.number, waiting.count,
                    waiting.dtype, tag_of(waiting.op)));
  }

  void traceback(const RankEvent& event, const std::string& last) {
    const std::string own = fmt::format("[rank{}]: ", event.rank);
    screen(event.rank) += fmt::format(
        "{0}Traceback (most recent call last):\n{0}  File \"scripts/base_train.py\", line 1, "
        "in <module>\n{0}{1}\n",
        own, last);
  }
  void timed(const RankEvent& event, const std::string& text) {
    screen(event.rank) +=
        fmt::format("[rank{}]: {} {}\n", event.rank, at(event.after_s).to_seconds(' '), text);
  }

  void tell(const RankEvent& event) {
    const std::string& code = event.code;
    const std::string tag =
        fmt::format(" [streamID:[1], taskID[39], tag[{}]]", tag_of(end(event.rank).op));
    if (code == "EI0002") {
      log("debug", "ERROR", event, "task_exception.cc", "[TaskExecStage][Timeout]",
          fmt::format("Task run failed: notify wait,{}, remote rank:[{}]", tag, event.peer));
      op_data(event);
      location(event);
      wrapped(event, tag + fmt::format(", remote rank:[{}]", event.peer));
    } else if (code == "EI0005") {
      log("debug", "ERROR", event, "transport.cc", "[InitChannelStage][ParameterConflict]",
          event.text);
      wrapped(event);
    } else if (code == "EI0006") {
      log("debug", "ERROR", event, "socket.cc", "[InitChannelStage][Timeout]",
          fmt::format("wait socket establish timeout, remoteRank[{}], timeout[{:.0f} s]",
                      event.peer, story_.limits.connect_s));
      wrapped(event);
    } else if (code == "EI0015") {
      log("debug", "ERROR", event, "topoinfo_exchange.cc", "[InitGroupStage][RanktableDetect]",
          event.text);
      wrapped(event);
    } else if (code == "EI0019") {
      log("debug", "ERROR", event, "socket.cc", "[InitGroupStage][Resource]", event.text);
      wrapped(event);
    } else if (code == "EI0013") {
      log("debug", "ERROR", event, "heartbeat.cc", "[TaskExecStage][RunFailed]",
          fmt::format("{}, time:[{}]", event.text, at(event.after_s).c_time()));
      wrapped(event);
    } else if (code == "LOST" || code == "STUCK" || code == "CQE") {
      log("run", "INFO", event, "heartbeat.cc", "[TaskExecStage][HeartbeatAbnormal]",
          fmt::format("local rank [{}]: crimer rank [{}] status[{}] by informer rank [{}]",
                      place(event.rank), place(event.peer), code == "CQE" ? "ERROR CQE" : code,
                      place(event.rank)));
    } else {
      tell_of_torch(event);
    }
  }

  void tell_of_torch(const RankEvent& event) {
    const std::string& code = event.code;
    if (code == "WATCHDOG") {
      const double limit_ms = story_.limits.watchdog_s * 1000;
      timed(event,
            fmt::format("[Rank {}] Watchdog caught collective operation timeout: {}(SeqNum={}, "
                        "OpType={}, NumelIn={}, Timeout(ms)={:.0f}) ran for {:.0f} milliseconds "
                        "before timing out.",
                        event.rank, story_.limits.is_hccl ? "WorkHCCL" : "WorkNCCL",
                        story_.site.number, capitals_of(end(event.rank).op), end(event.rank).count,
                        limit_ms, limit_ms + 512));
    } else if (code == "EXCEPTION") {
      screen(event.rank) += at(0).to_seconds(' ') + " loading the next batch\n";
      traceback(event, "KeyError: 'text'");
    } else if (code == "OOM") {
      timed(event, "allocation failed");
      traceback(event, story_.limits.is_hccl ? "RuntimeError: " + event.text
                                             : "torch.OutOfMemoryError: " + event.text);
    } else if (code == "ECC") {
      timed(event, "device error");
      traceback(event, fmt::format("RuntimeError: {}. time is {}", event.text,
                                   at(event.after_s).to_seconds(' ')));
    } else if (code == "EADDRINUSE") {
      timed(event, "init_process_group");
      traceback(event, "RuntimeError: " + event.text);
    } else if (code == "STORE") {
      timed(event, "init_process_group");
      traceback(event, "torch.distributed.DistNetworkError: " + event.text);
    } else if (code == "CLOSED") {
      timed(event, fmt::format("NCCL INFO [Service thread] {}, rank {}", event.text, event.peer));
    } else if (code == "NET_IB") {
      timed(event, "NCCL WARN " + event.text);
    } else if (code == "SIGTERM") {
      file("torchrun.log") += fmt::format(
          "W{} {} torch/distributed/elastic/multiprocessing/api.py:1] Sending process {} closing "
          "signal SIGTERM\n",
          at(event.after_s).glog(), kFirstPid - 1, pid(event.rank));
    }
  }

  // Of the first process that ended with another code than 0.
  void summary() {
    for (const RankEvent& event : story_.outcome.events) {
      const auto exitcode = end(event.rank).exitcode;
      const bool is_report = event.code == "LOST" || event.code == "STUCK" || event.code == "CQE" ||
                             event.code == "CLOSED";
      if (is_report || exitcode.value_or(0) == 0) continue;
      file("torchrun.log") += fmt::format(
          "Root Cause (first observed failure):\n[0]:\n  time      : {}\n  host      : node0\n"
          "  rank      : {} (local_rank: {})\n  exitcode  : {} (pid: {})\n",
          at(event.after_s).to_seconds('_'), event.rank, event.rank, *exitcode, pid(event.rank));
      return;
    }
  }

  void write_environment() {
    std::string& text = file("environment.txt");
    text += fmt::format("MASTER_ADDR={}\nMASTER_PORT=29500\nWORLD_SIZE={}\n", kHost, ranks());
    for (const auto& [name, value] : story_.environment)
      text += fmt::format("{}={}\n", name, value);
    if (!story_.process_group_timeout_s) return;
    // The doctor weighs the one against the other: the default is said, too.
    const std::string limit = "HCCL_EXEC_TIMEOUT";
    const bool is_hccl = story_.limits.is_hccl;
    if (is_hccl && !story_.environment.contains(limit))
      text += fmt::format("{}={:.0f}\n", limit, story_.limits.exec_s);
    text += fmt::format("dist.init_process_group(\"{}\", timeout=timedelta(seconds={:.0f}))\n",
                        is_hccl ? "hccl" : "nccl", *story_.process_group_timeout_s);
  }

  const FailureStory& story_;
  std::map<std::string, std::string> files_;
};

}  // namespace

std::map<std::string, std::string> logs_of(const FailureStory& story) {
  return Writer(story).run();
}

}  // namespace nb
