// Logs: what single lines mean, how they are read, which rank failed first.
#include <gtest/gtest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/gzip.hpp"
#include "harness/doctor/diagnosis.hpp"
#include "harness/doctor/event_numbers.hpp"
#include "harness/doctor/inputs.hpp"
#include "harness/doctor/log_scan.hpp"
#include "tests/results/import/make_zip.hpp"
#include "tests/support/data_dir.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::doctor {
namespace {

LogReading read_logs(const std::vector<std::pair<std::string, std::string>>& files,
                     std::size_t chunk = 1 << 20) {
  LogScan scan;
  for (const auto& [name, text] : files) {
    scan.begin(name);
    for (std::size_t at = 0; at < text.size(); at += chunk) scan.feed(text.substr(at, chunk));
    scan.end();
  }
  return scan.take();
}
Diagnosis diagnosis_of(const std::vector<std::pair<std::string, std::string>>& files,
                       const Facts& facts = {}) {
  return diagnose(read_logs(files), facts);
}
std::string codes_of(const std::string& text) {
  std::string codes;
  for (const LogEvent& event : read_logs({{"log", text}}).events)
    codes += (codes.empty() ? "" : " ") + event.code;
  return codes;
}

TEST(Signatures, EachExampleIsOfItsOwnRow) {
  EXPECT_EQ(signature_rows().size(), 92U);
  for (const SignatureRow& row : signature_rows()) {
    const auto matched = match_line(row.example);
    ASSERT_TRUE(matched.has_value()) << row.id;
    EXPECT_EQ(matched->code, row.id) << row.example;
    EXPECT_EQ(codes_of("step 1\n" + row.example + "\nstep 2\n"), row.id);
    EXPECT_FALSE(row.source.empty()) << row.id;
    EXPECT_FALSE(row.meaning.empty()) << row.id;
    EXPECT_FALSE(row.meaning_zh.empty()) << row.id;
  }
}

TEST(Signatures, NormalLogsHaveNone) {
  NB_NEEDS_DATA();
  int files = 0;
  long long lines = 0;
  for (const char* folder : {"imports/training_logs", "nanochat_reports"})
    for (const auto& entry : fs::recursive_directory_iterator(test::data_dir() / folder)) {
      if (!entry.is_regular_file() || entry.path().filename() == "LICENSE") continue;
      ++files;
      const LogReading reading = read_logs({{"log", read_file(entry.path()).value()}});
      lines += reading.lines;
      for (const LogEvent& event : reading.events)
        EXPECT_TRUE(event.row == nullptr) << entry.path() << ":" << event.line << " " << event.code;
    }
  EXPECT_GT(files, 60);
  EXPECT_GT(lines, 31'000);
}

TEST(Signatures, WhatIsNotInTheTableIsNamedByItsClass) {
  for (const auto& [line, code, what] : std::vector<std::array<std::string, 3>>{
           {"EI0022: something new", "EI0022", "HCCL, collective communication"},
           {"[ERROR] EJ0044: x", "EJ0044", "HCCP, the process that holds a card's network"},
           {"EE4001: x", "EE4001", "the runtime"},
           {"EZ1234: x", "EZ1234", "operators"},
           {"RuntimeError: x, error code is 507899", "507899", "the device"},
           {"aclrtMalloc failed, error code is 200004", "200004", "ACL: a resource"},
           {"E80012: tiling", "E80012", "tiling of operators"},
           {"ERR03005 GRAPH internal error", "ERR03005", "torch_npu's graphs: internal"},
           {"ERR07005 XYZ internal error", "ERR07005", "torch_npu, a module that is not known"},
           {"EB0042: [PID: 77] the pass refused it", "EB0042",
            "a code of CANN, its family is not known"},
           {"terminate called after throwing an instance of 'c10::Error'", "c10::Error",
            "a C++ exception that nobody caught"},
           {"malloc(): unsorted double linked list corrupted",
            "glibc: malloc(): unsorted double linked list corrupted",
            "memory of the process is damaged, says the C library"},
           {"x: ../comm.cc:431: void join(int): Assertion `rank < size' failed.", "assertion",
            "a program's own check failed and ended it"},
           {"F1128 11:00:00.123456  42 pass.cc:88] Check failed: n == 2 (3 vs. 2)", "check",
            "a program's own check failed and ended it"},
           {"Fatal Python error: Segmentation fault", "Fatal Python error: Segmentation fault",
            "the Python interpreter gave up"},
           {"run.sh: line 12: 12345 Segmentation fault      (core dumped) python3 t.py",
            "signal 11", "the process was ended by a signal"},
           {"Signal 6 (SIGABRT) received by PID 42", "signal 6",
            "the process was ended by a signal"},
           {"[ 8123.456789] watchdog: BUG: soft lockup - CPU#12 stuck for 23s!",
            "kernel: BUG: soft lockup - CPU", "the kernel reported it"},
           {"Nov 28 11:00:00 n7 kernel: [ 9.1] EXT4-fs error (device sda1): ext4_find_entry",
            "kernel: EXT4-fs error", "the kernel reported it"},
           {"[ERROR] DRV(42,python3):2026-01-02-03:04:05.000.100 [devmm.c:120] page handling broke",
            "[ERROR] of DRV", "the driver"},
           {"2026-01-02 03:04:05 | ERROR | worker 3 lost", "a line marked ERROR",
            "a program's log calls it an error"},
           {"exitcode  : -11 (pid: 7)", "signal 11", "the process was ended by a signal"},
           {"MyOwnError: the sun was in my eyes", "MyOwnError", "an exception of the program"}}) {
    const auto matched = match_line(line);
    ASSERT_TRUE(matched.has_value()) << line;
    EXPECT_EQ(matched->code, code) << line;
    EXPECT_EQ(matched->meaning, what) << line;
    EXPECT_TRUE(matched->row == nullptr) << line;
  }
  for (const char* ordinary :
       {"step 100 loss 2.31", "loading TE2007 tokens", "EIGHT0001 is a name", "an error of 3 %",
        "[ 1.0] pci 0000:00:00.0: BAR 7: failed to assign [io  size 0x1000]",
        "  error_injection_type ............ transient_error", "Killed 3 idle workers"})
    EXPECT_FALSE(match_line(ordinary).has_value()) << ordinary;
}

TEST(LogScan, WhatTheBytesLookLikeDoesNotMatter) {
  const std::string line = "[rank3]: EI0006: [PID: 1] Getting socket times out.";
  const std::string plain = "step 1\n" + line + "\nstep 2\n";
  EXPECT_EQ(codes_of(plain), "HCCL_SOCKET_TIMEOUT");
  EXPECT_EQ(codes_of("step 1\r\n" + line + "\r\n"), "HCCL_SOCKET_TIMEOUT");
  EXPECT_EQ(codes_of("  3%|#  | 3/100\r" + line), "HCCL_SOCKET_TIMEOUT") << "no line end";
  EXPECT_EQ(codes_of("\x1b[31m[rank3]: EI00\x1b[0m06: Getting socket\x1b[0m times out.\n"),
            "HCCL_SOCKET_TIMEOUT");
  EXPECT_EQ(codes_of("\xC4\xE3\xBA\xC3 " + line + "\n"), "HCCL_SOCKET_TIMEOUT") << "GBK";
  std::string binary(5000, '\0');
  binary += "\n" + line + std::string(100, '\0') + "\n";
  EXPECT_EQ(codes_of(binary), "HCCL_SOCKET_TIMEOUT");
  EXPECT_EQ(codes_of(std::string(50'000, '\0') + line + "\n"), "HCCL_SOCKET_TIMEOUT") << "a hole";
  std::string wide = "\xFF\xFE";
  for (const char c : plain) wide += std::string{c, '\0'};
  EXPECT_EQ(codes_of(wide), "HCCL_SOCKET_TIMEOUT");
  EXPECT_EQ(codes_of(std::string(100'000, 'x') + line + "\n" + line + "\n"), "HCCL_SOCKET_TIMEOUT");
}

TEST(LogScan, PiecesDoNotMatter) {
  std::string text;
  for (int i = 0; i < 50; ++i)
    text += "2026-01-02 03:04:" + std::to_string(10 + i) + " step\n[rank" + std::to_string(i % 4) +
            "]: OSError: [Errno 24] Too many open files\n";
  const auto whole = read_logs({{"log", text}});
  for (const std::size_t chunk : {1UL, 7UL, 100UL, 4096UL}) {
    const auto pieces = read_logs({{"log", text}}, chunk);
    ASSERT_EQ(pieces.events.size(), whole.events.size()) << chunk;
    for (std::size_t i = 0; i < whole.events.size(); ++i) {
      EXPECT_EQ(pieces.events[i].line, whole.events[i].line) << chunk;
      EXPECT_EQ(pieces.events[i].time_ns, whole.events[i].time_ns) << chunk;
      EXPECT_EQ(pieces.events[i].count, whole.events[i].count) << chunk;
    }
  }
  EXPECT_EQ(whole.events.size(), 4U);
  EXPECT_EQ(whole.events[0].line, 2);
}

TEST(LogScan, EqualLinesAreOne) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "EI0006: Getting socket times out.\n";
  const auto reading = read_logs({{"rank_2/log.txt", text}});
  ASSERT_EQ(reading.events.size(), 1U);
  EXPECT_EQ(reading.events[0].count, 10'000);
  EXPECT_EQ(reading.events[0].rank, "2");
}

TEST(LogScan, TimesAreReadInEachForm) {
  const auto at = [](const char* text) { return time_in(text).value_or(-1); };
  EXPECT_EQ(time_text(at("HCCL(1,python3):2025-07-23-03:47:57.070.463 [x")), "03:47:57.070");
  EXPECT_EQ(time_text(at("[ERROR] 2025-03-26-17:01:03 (PID:159")), "17:01:03.000");
  EXPECT_EQ(time_text(at("2026-01-02T03:04:05.6 x")), "03:04:05.600");
  EXPECT_EQ(time_text(at("[W326 11:48:12.300000000 x")), "11:48:12.300");
  EXPECT_EQ(at("2025-07-23-03:49:57.177.194") - at("2025-07-23-03:47:57.070.463"), 120'106'731'000);
  EXPECT_FALSE(time_in("step 3, loss 2.0").has_value());
}

TEST(LogScan, AProcessHasTheRankThatAnyLineGivesIt) {
  const auto reading = read_logs(
      {{"all.log",
        "[ERROR] HCCL(77,python3):2025-07-23-03:47:57.070.463 [x] EI0006 Getting socket times out\n"
        "[ERROR] 2025-07-23-03:47:58 (PID:77, Device:5, RankID:5) ERR02200 DIST call hccl api "
        "failed.\n"}});
  ASSERT_FALSE(reading.events.empty());
  EXPECT_EQ(reading.events[0].rank, "5");
}

// ---- who was first

std::string file_of(const std::string& name) {
  return read_file(test::data_dir() / "imports" / "smi_and_collectives" / name).value();
}

TEST(Diagnosis, ABusyPortIsTheRootOfALateLink) {
  NB_NEEDS_DATA();
  const auto found = diagnosis_of(
      {{"plog", file_of("vllm-project__vllm-ascend/issue1955_plog_hccl_link_timeout.txt")}});
  ASSERT_EQ(found.roots.size(), 1U);
  EXPECT_EQ(found.roots[0].event.code, "HCCL_PORT_BUSY");
  EXPECT_EQ(time_text(*found.roots[0].event.time_ns), "03:47:57.070");
  EXPECT_EQ(found.roots[0].numbers, (Arguments{{"port", "16666"},
                                               {"address", "192.168.20.160"},
                                               {"socket_type", "1"},
                                               {"hccl_result", "19"}}));
  EXPECT_EQ(found.confidence, Confidence::kCertain);
  ASSERT_EQ(found.chain.size(), 1U);
  EXPECT_EQ(found.chain[0].event.code, "HCCL_SOCKET_TIMEOUT");
  EXPECT_NEAR(*found.chain[0].after_s, 120.1, 0.05);
  EXPECT_EQ(found.chain[0].equals, "HCCL_CONNECT_TIMEOUT");
  EXPECT_NE(text_of(found, Language::kEn).find("(peer 12) +120.1 s = HCCL_CONNECT_TIMEOUT"),
            std::string::npos);
}

TEST(Diagnosis, AWrapperIsNotTheRoot) {
  NB_NEEDS_DATA();
  const auto found =
      diagnosis_of({{"log", file_of("hiyouga__LlamaFactory/issue3839_EJ0001_hccp.txt")}});
  ASSERT_EQ(found.roots.size(), 1U);
  EXPECT_EQ(found.roots[0].event.code, "HCCP_RESIDUAL");
  EXPECT_EQ(found.roots[0].event.rank, "3");
}

TEST(Diagnosis, MemoryThatIsReservedAndUnusedIsFragmented) {
  NB_NEEDS_DATA();
  const auto found =
      diagnosis_of({{"log", file_of("xingchensong__TouchNet/issue100_npu_oom.txt")}});
  ASSERT_EQ(found.roots.size(), 1U);
  ASSERT_TRUE(found.roots[0].verdict.has_value());
  EXPECT_EQ(found.roots[0].verdict->key, "OOM.fragmentation");
  EXPECT_NE(text_of(found, Language::kEn)
                .find("asked 5.03 GiB, 1.32 free; 8.08 GiB are reserved but unused: fragmentation"),
            std::string::npos);
}

TEST(Diagnosis, NumbersOfMemorySayWhoHoldsIt) {
  const double kMib = 1.0 / 1024;
  const auto of = [](std::optional<double> total, std::optional<double> allocated,
                     std::optional<double> reserved, std::optional<double> free,
                     std::optional<double> asked) {
    return memory_verdict({total, allocated, reserved, free, asked}).value();
  };
  const auto held = of(60.97, 10.24, 10.65, 19.52 * kMib, std::nullopt);
  EXPECT_EQ(held.key, "OOM.others");
  EXPECT_NEAR(*held.others, 50.30, 0.005);
  EXPECT_NEAR(*held.slack, 0.41, 0.005);
  const auto unknown = of(29.50, std::nullopt, 1.02, 39.48 * kMib, std::nullopt);
  EXPECT_EQ(unknown.key, "OOM.others");
  EXPECT_NEAR(*unknown.others, 28.44, 0.005);
  EXPECT_EQ(of(60.96, 49.47, 57.55, 1.32, 5.03).key, "OOM.fragmentation");
  EXPECT_EQ(of(61.27, 56.05, 58.39, 5.04 * kMib, 72 * kMib).key, "OOM.fragmentation");
  EXPECT_EQ(of(60.96, 58.0, 58.5, 1.0, 5.0).key, "OOM.large");
}

TEST(Diagnosis, TheEarliestCauseOfAllRanksIsTheRoot) {
  std::vector<std::pair<std::string, std::string>> files;
  for (int rank = 0; rank < 8; ++rank) {
    std::string text = "2026-01-02 11:00:00.000 step 1\n";
    if (rank == 3)
      text +=
          "2026-01-02 11:02:14.201 RuntimeError: NPU out of memory. Tried to allocate 5.03 GiB "
          "(NPU 3; 60.96 GiB total capacity; 49.47 GiB already allocated; 49.47 GiB current "
          "active; 1.32 GiB free; 57.55 GiB reserved in total by PyTorch)\n";
    else
      text += "2026-01-02 11:04:14.301 EI0006: Getting socket times out. Reason: x\n";
    files.emplace_back("logs/rank_" + std::to_string(rank) + ".txt", text);
  }
  const auto found = diagnosis_of(files);
  EXPECT_EQ(found.roots.at(0).event.rank, "3");
  ASSERT_EQ(found.chain.size(), 1U);
  const std::string text = text_of(found, Language::kEn);
  EXPECT_NE(text.find("then ranks 0-2, 4-7: HCCL_SOCKET_TIMEOUT +120.1 s = HCCL_CONNECT_TIMEOUT"),
            text.npos)
      << text;
  const Json json = json_of(found, Language::kEn);
  EXPECT_EQ(json["root"]["rank"], "3");
  EXPECT_EQ(json["chain"][0]["ranks"].size(), 7U);
  EXPECT_EQ(json["confidence"], "certain");
}

TEST(Diagnosis, TheRankThatIsSilentWhileOthersWaitIsLikely) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const int rank : {0, 1, 3})
    files.emplace_back("rank" + std::to_string(rank) + ".log",
                       "2026-01-02 11:04:14.301 EI0006: Getting socket times out.\n");
  files.emplace_back("rank2.log", "2026-01-02 11:00:00.000 step 1\n");
  const auto found = diagnosis_of(files);
  ASSERT_EQ(found.roots.size(), 1U);
  EXPECT_EQ(found.roots[0].event.rank, "2");
  EXPECT_EQ(found.confidence, Confidence::kLikely);
}

TEST(Diagnosis, RanksWithoutALogAreNamed) {
  Facts facts;
  facts.set("ranks", "4");
  const auto found = diagnosis_of({{"rank0.log", "EI0006: Getting socket times out.\n"},
                                   {"rank1.log", "EI0006: Getting socket times out.\n"}},
                                  facts);
  EXPECT_EQ(found.missing_ranks, (std::vector<std::string>{"2", "3"}));
  EXPECT_EQ(found.roots.at(0).event.rank, "2");
}

TEST(Diagnosis, AgentsThatNeverConnectedAreNamed) {
  const auto found = diagnosis_of(
      {{"rank0.log",
        "EI0015: topo exchange server get socket timeout! timeout[120 s], connected 6 of "
        "8. Failed to connect agent[3,5,].\n"}});
  ASSERT_EQ(found.roots.size(), 2U);
  EXPECT_EQ(found.roots[0].event.rank, "3");
  EXPECT_EQ(found.roots[1].event.rank, "5");
}

TEST(Diagnosis, AnotherCollectiveThanTheOthersIsAnOrderOfCalls) {
  std::vector<std::pair<std::string, std::string>> files;
  for (int rank = 0; rank < 4; ++rank)
    files.emplace_back(
        "rank" + std::to_string(rank),
        std::string("EI0002: The wait execution of the Notify register times out. tag[") +
            (rank == 2 ? "AllGather" : "AllReduce") + "_x_60000_0]\n");
  const auto found = diagnosis_of(files);
  ASSERT_EQ(found.roots.size(), 1U);
  EXPECT_EQ(found.roots[0].event.rank, "2");
  EXPECT_EQ(found.why.at(0).key, "diag.tags");
}

// As c10d writes it; groups of ranks count their collectives apart.
TEST(Diagnosis, TheWatchdogsLinesNameTheOddCallOfOneGroup) {
  const auto found = [](const std::vector<std::string>& calls,
                        const std::vector<std::string>& groups) {
    std::vector<std::pair<std::string, std::string>> files;
    for (std::size_t rank = 0; rank < calls.size(); ++rank)
      files.emplace_back(
          "rank" + std::to_string(rank),
          "[rank" + std::to_string(rank) + "]:[E1129 10:00:00.000 ProcessGroupNCCL.cpp:616] [" +
              groups[rank % groups.size()] + "Rank " + std::to_string(rank) +
              "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=42, OpType=" +
              calls[rank] + ", NumelOut=8, Timeout(ms)=600000) ran for 600029 milliseconds.\n");
    return diagnosis_of(files);
  };
  const std::string sum = "ALLREDUCE, NumelIn=8", gather = "ALLGATHER, NumelIn=8",
                    longer = "ALLREDUCE, NumelIn=9";
  const auto order = found({sum, sum, gather, sum}, {""});
  ASSERT_EQ(order.roots.size(), 1U);
  EXPECT_EQ(order.roots[0].event.rank, "2");
  EXPECT_EQ(order.why.at(0).key, "diag.tags");
  const auto count = found({sum, longer, sum}, {"PG ID 0 PG GUID 0(default_pg) "});
  ASSERT_EQ(count.roots.size(), 1U);
  EXPECT_EQ(count.roots[0].event.rank, "1");
  EXPECT_EQ(count.why.at(0).key, "diag.counts");
  const auto tied = found({sum, gather}, {""});
  EXPECT_EQ(tied.roots.size(), 2U);
  EXPECT_EQ(tied.why.at(0).key, "diag.tied");
  for (const auto& why : found({sum, sum, gather, sum}, {"PG ID 0 ", "PG ID 1 "}).why)
    EXPECT_NE(why.key, "diag.tags");
}

// Their limits and their variables are not the same.
TEST(Diagnosis, TheWatchdogIsThatOfItsLibrary) {
  const auto remedy = [](const std::string& work) {
    return text_of(diagnosis_of({{"rank0",
                                  "[rank0]:[E1129 10:00:00.000 ProcessGroup.cpp:616] [Rank "
                                  "0] Watchdog caught collective operation timeout: " +
                                      work +
                                      "(SeqNum=42, OpType=ALLREDUCE, NumelIn=8, "
                                      "NumelOut=8, Timeout(ms)=600000) ran for 600029 "
                                      "milliseconds.\n"}}),
                   Language::kEn);
  };
  EXPECT_NE(remedy("WorkNCCL").find("TORCH_NCCL_DESYNC_DEBUG"), std::string::npos);
  EXPECT_EQ(remedy("WorkNCCL").find("HCCL"), std::string::npos);
  EXPECT_NE(remedy("WorkHCCL").find("TORCH_HCCL_DESYNC_DEBUG"), std::string::npos);
}

TEST(Diagnosis, TwoCausesWithinASecondAreBothNamed) {
  const auto found = diagnosis_of(
      {{"rank0", "2026-01-02 11:00:00.100 OSError: [Errno 28] No space left on device\n"},
       {"rank1", "2026-01-02 11:00:00.900 OSError: [Errno 24] Too many open files\n"},
       {"rank2", "2026-01-02 11:00:09.900 OSError: [Errno 24] Too many open files\n"}});
  EXPECT_EQ(found.roots.size(), 2U);
  EXPECT_EQ(found.why.at(0).key, "diag.together");
}

TEST(Diagnosis, AnEarlierConsequenceMakesItUncertain) {
  const auto found = diagnosis_of(
      {{"rank0", "2026-01-02 11:00:00.100 EI0006: Getting socket times out.\n"},
       {"rank1", "2026-01-02 11:05:00.900 OSError: [Errno 24] Too many open files\n"}});
  EXPECT_EQ(found.confidence, Confidence::kLikely);
  EXPECT_EQ(found.why.at(0).key, "diag.earlier");
}

TEST(Diagnosis, WithoutTimesARankThatWaitedIsNotTheFirst) {
  const auto found = diagnosis_of(
      {{"rank0", "EI0006: Getting socket times out.\nOSError: [Errno 24] Too many open files\n"},
       {"rank1", "OSError: [Errno 28] No space left on device\n"}});
  EXPECT_EQ(found.roots.at(0).event.rank, "1");
}

TEST(Diagnosis, AnUnknownErrorIsNamedAndNotGuessed) {
  const auto found = diagnosis_of({{"log",
                                    "Traceback (most recent call last):\n  File \"a.py\", line 1\n"
                                    "mylib.StrangeError: 42\n"}});
  ASSERT_EQ(found.roots.size(), 1U);
  EXPECT_EQ(found.roots[0].event.code, "mylib.StrangeError");
  EXPECT_EQ(found.confidence, Confidence::kUnknown);
  EXPECT_NE(text_of(found, Language::kEn).find("not in the table"), std::string::npos);
}

// What the root is called, where it was raised, and what is said of it.
std::string named(const std::string& text) {
  const auto found = diagnosis_of({{"log", text}});
  if (found.roots.size() != 1) return std::to_string(found.roots.size()) + " roots";
  std::string said = found.roots[0].event.code;
  for (const auto& [name, value] : found.roots[0].numbers)
    if (name == "raised_in") said += " in " + value;
  return said;
}

TEST(Diagnosis, ATracebackEndsWithItsExceptionWhateverThatIsCalled) {
  const std::string frames =
      "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    run()\n"
      "  File \"/opt/py/lib/python3.11/site-packages/swift/train/sft.py\", line 88, in run\n"
      "    self.queue.get()\n    ~~~~~~~~~~~~~~^^\n";
  EXPECT_EQ(named(frames + "_queue.Empty\n"), "_queue.Empty in swift/train/sft.py:88 in run");
  EXPECT_EQ(named(frames + "mylib.ShapeMismatch: (3, 4)\r\n"),
            "mylib.ShapeMismatch in swift/train/sft.py:88 in run");
  EXPECT_EQ(named(frames + "StopIteration"), "StopIteration in swift/train/sft.py:88 in run");
  // Another process prints between, and each line has its own time.
  std::string prefixed;
  int second = 10;
  for (std::size_t at = 0; at < frames.size();) {
    const std::size_t end = frames.find('\n', at);
    prefixed += "(Core pid=27) ERROR 10-10 10:10:" + std::to_string(second++) + " [core.py:7] " +
                frames.substr(at, end - at + 1) + "INFO: step\n";
    at = end + 1;
  }
  EXPECT_EQ(
      named(prefixed + "(Core pid=27) ERROR 10-10 10:10:40 [core.py:7] mylib.Gone: expert 3\n"),
      "mylib.Gone in swift/train/sft.py:88 in run");
  EXPECT_EQ(named(frames + "done\nINFO: next\n"), "0 roots");
}

TEST(Diagnosis, WhatOnlyPassesAnErrorOnDoesNotHideIt) {
  const std::string first =
      "[rank3]: Traceback (most recent call last):\n[rank3]:   File \"/w/a/b/train.py\", line 12, "
      "in <module>\n[rank3]: mylib.ShapeMismatch: (3, 4)\n";
  const std::string then =
      "Traceback (most recent call last):\n  File \"/usr/bin/torchrun\", line 8, in <module>\n"
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n";
  EXPECT_EQ(named(first + then), "mylib.ShapeMismatch in a/b/train.py:12 in <module>");
  EXPECT_EQ(named(then),
            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError in "
            "/usr/bin/torchrun:8 in <module>");
}

// The launcher's lines stood behind those of a rank, and were taken for that rank's.
TEST(Diagnosis, TheLauncherThatEndsTheOthersIsNoRank) {
  EXPECT_EQ(
      named("[rank3]: Traceback (most recent call last):\n[rank3]:   File \"/w/a/b/train.py\", "
            "line 12, in run\n[rank3]: mylib.ShapeMismatch: (3, 4)\n"
            "W1128 11:00:00.123000 42 torch/distributed/elastic/multiprocessing/api.py:897] "
            "Sending process 4243 closing signal SIGTERM\n"),
      "mylib.ShapeMismatch in a/b/train.py:12 in run");
}

TEST(Diagnosis, WhatAnUncaughtExceptionSaidIsShown) {
  const auto found = diagnosis_of({{"log",
                                    "terminate called after throwing an instance of 'c10::Error'\n"
                                    "  what():  Expected size 4 but got size 5\nAborted (core "
                                    "dumped)\n"}});
  ASSERT_EQ(found.roots.size(), 1U);
  EXPECT_EQ(found.roots[0].event.code, "c10::Error");
  EXPECT_NE(text_of(found, Language::kEn).find("Expected size 4 but got size 5"),
            std::string::npos);
}

TEST(Diagnosis, TheCodeInsideIsNamedBeforeTorchNpusOwn) {
  EXPECT_EQ(named("RuntimeError: aclrtSynchronizeDevice, error code is 507399\n"
                  "[ERROR] 2026-01-02-03:04:05 (PID:42, Device:0) ERR00199 PTA unexpected state\n"),
            "507399");
}

TEST(Diagnosis, AnUnknownErrorIsShownAsItWasPrinted) {
  const auto found = diagnosis_of({{"log", "step 1\nEB0042: [PID: 77] the pass refused it\n"}});
  EXPECT_EQ(
      text_of(found, Language::kEn),
      "Root: log:2, EB0042: a code of CANN, its family is not known; not in the table, so its "
      "cause is not known here    unknown\n"
      "  log:2: EB0042: [PID: 77] the pass refused it\n");
  EXPECT_NE(text_of(found, Language::kZh).find("EB0042: CANN 错误码，系列未知"), std::string::npos);
}

TEST(Diagnosis, TheRankWithAnErrorOfItsOwnIsWhatOthersWaitFor) {
  std::vector<std::pair<std::string, std::string>> files;
  for (int rank = 0; rank < 4; ++rank)
    files.emplace_back("rank_" + std::to_string(rank),
                       rank == 2 ? "Traceback (most recent call last):\n  File \"a.py\", line 1\n"
                                   "mylib.StrangeError: 42\n"
                                 : "EI0006: Getting socket times out.\nRuntimeError: x\n");
  const auto found = diagnosis_of(files);
  ASSERT_EQ(found.roots.size(), 1U);
  EXPECT_EQ(found.roots[0].event.rank, "2");
  EXPECT_EQ(found.roots[0].event.code, "mylib.StrangeError");
  EXPECT_EQ(found.confidence, Confidence::kLikely);
  EXPECT_EQ(found.why.at(0).key, "diag.own_error");
}

// An error to its logger need not have ended anything: shown, but no failed run.
TEST(Diagnosis, ALineMarkedErrorAloneIsNoRoot) {
  const Findings findings =
      examine(read_text_input("log", "2026-01-02 03:04:05 | ERROR | worker 3 lost\n"), {});
  EXPECT_TRUE(findings.diagnosis.roots.empty());
  ASSERT_EQ(findings.diagnosis.unmatched.size(), 1U);
  EXPECT_EQ(exit_code(findings, false), 0);
  EXPECT_EQ(exit_code(findings, true), 2);
  EXPECT_NE(text_of(findings, Language::kEn, false).find("| ERROR | worker 3 lost"),
            std::string::npos);
}

TEST(Diagnosis, ARankThatBeganItsCollectiveTooLateIsSlow) {
  std::vector<std::pair<std::string, std::string>> files;
  for (int rank = 0; rank < 4; ++rank)
    files.emplace_back(
        "rank_" + std::to_string(rank),
        "EI0002: The wait execution of the Notify register times out. tag[AllReduce_x]\n"
        "[TaskExceptionHandler][Callback]opData information is timeStamp:[2026-01-02-" +
            std::string(rank == 1 ? "04:10" : "03:04") + ":05.000.000],deviceId[0],index[13]\n");
  const auto found = diagnosis_of(files);
  ASSERT_EQ(found.roots.size(), 1U);
  EXPECT_EQ(found.roots[0].event.rank, "1");
  EXPECT_EQ(found.why.at(0).key, "diag.late");
}

// ---- archives

std::string tar_of(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string tar;
  for (const auto& [name, text] : files) {
    std::string header(512, '\0');
    header.replace(0, name.size(), name);
    header.replace(100, 7, "0000644");
    char size[12];
    std::snprintf(size, sizeof size, "%011zo", text.size());
    header.replace(124, 11, size);
    header.replace(136, 11, "00000000000");
    header[156] = '0';
    header.replace(257, 6, std::string("ustar\0", 6));
    header.replace(263, 2, "00");
    header.replace(148, 8, "        ");
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    std::snprintf(size, sizeof size, "%06o", sum);
    header.replace(148, 6, size);
    header[154] = '\0';
    tar += header + text + std::string((512 - text.size() % 512) % 512, '\0');
  }
  return tar + std::string(1024, '\0');
}

TEST(Inputs, ArchivesAreReadAsTheirFiles) {
  const std::string tar =
      tar_of({{"logs/rank_0.txt", "EI0006: Getting socket times out.\n"},
              {"logs/rank_1.txt", "OSError: [Errno 28] No space left on device\n"}});
  for (const std::string& bytes : {tar, gzip(tar)}) {
    const Inputs inputs = read_text_input("logs.tar", bytes);
    EXPECT_TRUE(inputs.errors.empty());
    const Findings findings = examine(inputs, {});
    ASSERT_EQ(findings.diagnosis.roots.size(), 1U);
    EXPECT_EQ(findings.diagnosis.roots[0].event.rank, "1");
    EXPECT_EQ(findings.diagnosis.roots[0].event.file, "logs.tar:logs/rank_1.txt");
  }
}

TEST(Inputs, BrokenArchivesAreOneSentenceEach) {
  const std::string tar = tar_of({{"rank_0.txt", std::string(3000, 'x')}});
  const auto error_of = [](const std::string& bytes) {
    const Inputs inputs = read_text_input("a", bytes);
    return inputs.errors.size() == 1 ? inputs.errors[0].message : "no error";
  };
  EXPECT_EQ(error_of(tar.substr(0, 2000)), "a: the tar archive is cut off");
  const std::string packed = gzip(std::string(100'000, 'x') + "\n");
  EXPECT_EQ(error_of(packed.substr(0, packed.size() / 2)),
            "a: the gzip data are cut off; what there was has been read");
  std::string damaged = packed;
  for (std::size_t i = 12; i < 40; ++i) damaged[i] = 'x';
  EXPECT_EQ(error_of(damaged), "a: the gzip data are damaged");
  EXPECT_EQ(error_of(gzip(gzip(gzip(gzip("x"))))),
            "a: archives are packed in archives more than three deep");
  EXPECT_EQ(error_of(gzip(std::string(std::size_t{100} << 20, '\0'))),
            "a: it unpacks to more than 300 times its size; unpack it first if you trust it");
}

// A zip of less than 512 bytes was said to be one inside another file.
TEST(Inputs, ASmallZipIsRead) {
  const test::TempDir folder;
  const std::string file = folder / "logs.zip";
  ASSERT_TRUE(
      write_file(file, test::zip_of({{"rank_1.txt", "OSError: [Errno 24] Too many open files\n"}}))
          .has_value());
  ASSERT_LT(fs::file_size(file), 512U);
  const Inputs inputs = read_inputs({file});
  EXPECT_TRUE(inputs.errors.empty());
  ASSERT_EQ(inputs.log.events.size(), 1U);
  EXPECT_EQ(inputs.log.events[0].rank, "1");
}

TEST(Inputs, ADeviceWithoutAnEndIsRefused) {
  const Inputs inputs = read_inputs({"/dev/zero"});
  ASSERT_EQ(inputs.errors.size(), 1U);
  EXPECT_EQ(inputs.errors[0].message, "/dev/zero: is a device, which may have no end; give a file");
}

TEST(Inputs, AFileThatIsNotThereIsASentence) {
  const Inputs inputs = read_inputs({"no/such/file"});
  ASSERT_EQ(inputs.errors.size(), 1U);
  EXPECT_EQ(inputs.errors[0].message, "no/such/file: can't be read: No such file or directory");
}

TEST(Inputs, AFolderIsReadInTheOrderOfItsNames) {
  const test::TempDir folder;
  for (int rank = 0; rank < 3; ++rank)
    ASSERT_TRUE(write_file(folder / ("plog/rank_" + std::to_string(rank) + "/plog.log"),
                           "EI0006: Getting socket times out.\n")
                    .has_value());
  const Inputs inputs = read_inputs({folder.path()});
  ASSERT_EQ(inputs.log.events.size(), 3U);
  EXPECT_EQ(inputs.log.events[2].rank, "2");
}

TEST(Inputs, AnIssueIsLintedAndItsLogIsRead) {
  const Findings findings =
      examine(read_text_input(
                  "issue.md",
                  "### Your environment\n```\nPyTorch version: 2.7.1+cpu\n[pip3] numpy==2.0.1\n"
                  "[pip3] torch-npu==2.7.1.post1\nversion=8.1.RC1\n```\n### What I ran\n```bash\n"
                  "export HCCL_CONNECT_TIMEOUT=60\n```\n### Bug\n```\nTraceback (most recent call "
                  "last):\n  File \"x.py\", line 3\nRuntimeError: AclSetCompileopt, error code is "
                  "500001\n```\n"),
              {});
  ASSERT_EQ(findings.diagnosis.roots.size(), 1U);
  EXPECT_EQ(findings.diagnosis.roots[0].event.code, "COMPILE_OPT");
  EXPECT_EQ(findings.diagnosis.roots[0].event.line, 16);
  std::string said;
  for (const Check& check : findings.checks)
    if (check.state == State::kFail) said += check.id + " ";
  EXPECT_EQ(said, "VER5 ENV130 ");
}

// Its source was a script, and what stood behind it was not read.
TEST(Inputs, ALogThatBeginsWithItsProgramIsRead) {
  std::string text = "import os\nimport torch\n# a model\n";
  for (int i = 0; i < 40; ++i) text += "# part " + std::to_string(i) + "\nx = 1\n";
  text +=
      "step:1/90 train_loss:3.1\nTraceback (most recent call last):\n  File \"t.py\", line 3\n"
      "OSError: [Errno 28] No space left on device\n";
  const Findings findings = examine(read_text_input("log", text), {});
  ASSERT_EQ(findings.diagnosis.roots.size(), 1U);
  EXPECT_EQ(findings.diagnosis.roots[0].event.code, "NO_SPACE");
}

TEST(Inputs, GuidesThatExplainErrorsAreNoLogs) {
  NB_NEEDS_DATA();
  const Inputs inputs = read_inputs({test::data_dir() / "guides"});
  EXPECT_TRUE(inputs.log.events.empty()) << inputs.log.events.front().text;
}

TEST(Inputs, Utf16TextsAreRecognised) {
  const std::string text = "PATH=/usr/bin\nHCCL_CONNECT_TIMEOUT=60\n";
  std::string wide, big;
  for (const char c : text) {
    wide += std::string{c, '\0'};
    big += std::string{'\0', c};
  }
  for (const std::string& bytes : {"\xFF\xFE" + wide, wide, "\xFE\xFF" + big, big}) {
    const Findings findings = examine(read_text_input("env.txt", bytes), {});
    ASSERT_EQ(findings.checks.size(), 1U);
    EXPECT_EQ(findings.checks[0].id, "ENV130");
  }
}

// "Nothing wrong" was said of any text.
TEST(Inputs, WhatIsOfNoKnownKindIsNoHealth) {
  const auto is_unknown = [](const std::string& text) {
    return knows_nothing(examine(read_text_input("file", text), {}));
  };
  EXPECT_TRUE(is_unknown("Dear all,\nlunch is at noon.\n"));
  EXPECT_TRUE(is_unknown(""));
  EXPECT_TRUE(is_unknown("{\"a\": [1, 2]}"));
  EXPECT_TRUE(is_unknown(std::string("\x7f"
                                     "ELF\0\1\2\3",
                                     8) +
                         std::string(100'000, '\xA5')));
  std::string large(std::size_t{9} << 20, 'x');
  for (std::size_t at = 99; at < large.size(); at += 100) large[at] = '\n';
  EXPECT_TRUE(is_unknown(large)) << "9 MiB are not kept";
  for (const char* healthy :
       {"step 00001/00100 (1.00%) | loss: 3.100000 | dt: 100.00ms\n",
        " iteration        1/    5000 | consumed samples:          512 | lm loss: 2.0E+00 |\n",
        "{'loss': 2.31, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'epoch': 0.02}\n",
        "  3%|#  | 3/100 [00:04<02:10,  1.3s/it]\n", "INFO 10-10 10:10:10 [a.py:3] ready\n",
        "[INFO] HCCL(27,python3):2025-07-23-03:47:57.070.463 [x.cc:100] init\n",
        "[    1.000000] usb 1-1: new device\n", "Epoch 3: loss 0.3\n"})
    EXPECT_FALSE(is_unknown(healthy)) << healthy;
}

}  // namespace
}  // namespace nb::doctor
