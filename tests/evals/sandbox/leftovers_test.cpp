// What a killed npubench leaves of its sandboxes goes at the next start; what is in use stays.

#include "evals/sandbox/leftovers.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <thread>

#include "evals/sandbox/sandbox.hpp"
#include "evals/sandbox/scratch.hpp"
#include "evals/sandbox/scripts.hpp"
#include "harness/base/fs.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::sandbox {
namespace {

class Leftovers : public testing::Test {
 protected:
  Leftovers() {
    ::setenv("TMPDIR", temporary_.path().c_str(), 1);
    ::chmod(temporary_.path().c_str(), 0755);
  }
  ~Leftovers() override {
    ::unsetenv("TMPDIR");
    ::unsetenv("NPUBENCH_SANDBOX");
  }
  std::size_t folders() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(temporary_.path()), fs::directory_iterator()));
  }
  test::TempDir temporary_;
};

bool comes_true(const std::function<bool()>& claim) {
  for (int tries = 0; tries < 1000; ++tries) {
    if (claim()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// Neither running nor sleeping: gone, or waiting for somebody to ask how it ended.
bool is_dead(pid_t pid) {
  const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  return !stat || stat->substr(stat->rfind(')') + 2, 1) == "Z";
}

TEST_F(Leftovers, AFolderThatNobodyUsesIsRemoved) {
  const fs::path dead = temporary_ / "npubench-sandbox-dead01";
  ASSERT_TRUE(write_file(dead / "inner" / "file", "x"));
  ASSERT_TRUE(write_file(temporary_ / "npubench-other" / "file", "x"));
  const auto used = Scratch::create(/*for_nobody=*/false);
  ASSERT_TRUE(used) << used.error().message;
  end_leftovers();
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(used->path()));
  EXPECT_TRUE(fs::exists(temporary_ / "npubench-other" / "file"));
}

TEST_F(Leftovers, TheFolderOfAKilledTrialIsRemoved) {
  ::setenv("NPUBENCH_SANDBOX", "landlock", 1);
  const auto ability = probe();
  if (!ability) GTEST_SKIP() << ability.error().message;
  const pid_t pid = ::fork();
  if (pid == 0) {
    const auto outcome = run_trial(*ability, {"import time\ntime.sleep(1000)", "", "", "", ""},
                                   {.idle_seconds = 1000});
    ::_exit(outcome ? 0 : 1);
  }
  EXPECT_TRUE(comes_true([&] { return folders() == 1; }));
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  EXPECT_TRUE(comes_true([&] { return folders() == 0; }));
}

// bwrap held where it waits for its user namespace, and killed there.
TEST_F(Leftovers, AWaitingBubblewrapIsKilled) {
  if (::access("/usr/bin/bwrap", X_OK) != 0) GTEST_SKIP() << "no /usr/bin/bwrap";
  std::array<int, 2> block{}, info{};
  ASSERT_EQ(::pipe(block.data()), 0);
  ASSERT_EQ(::pipe(info.data()), 0);
  const std::string script(kRunnerText);
  const std::string block_text = std::to_string(block[0]), info_text = std::to_string(info[1]);
  const pid_t outer = ::fork();
  if (outer == 0) {
    ::close(block[1]);
    ::execl("/usr/bin/bwrap", "bwrap", "--unshare-user", "--unshare-pid", "--userns-block-fd",
            block_text.c_str(), "--info-fd", info_text.c_str(), "--ro-bind", "/", "/", "--",
            "/bin/echo", script.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(info[1]);
  std::string said;
  std::array<char, 256> buffer;
  for (ssize_t got = 0;
       said.find('}') == said.npos && (got = ::read(info[0], buffer.data(), buffer.size())) > 0;)
    said.append(buffer.data(), static_cast<std::size_t>(got));
  const std::size_t at = said.find("\"child-pid\": ");
  ::kill(outer, at == said.npos ? SIGTERM : SIGKILL);
  ::waitpid(outer, nullptr, 0);
  if (at == said.npos) GTEST_SKIP() << "bwrap does not work here";
  const pid_t inner = std::stoi(said.substr(at + 13));
  EXPECT_FALSE(is_dead(inner));
  end_leftovers();
  EXPECT_TRUE(comes_true([&] { return is_dead(inner); }));
  for (const int number : {block[0], block[1], info[0]}) ::close(number);
}

}  // namespace
}  // namespace nb::sandbox
