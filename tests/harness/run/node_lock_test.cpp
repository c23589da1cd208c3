#include "harness/run/node_lock.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

// A child that takes the lock, says so through a pipe and sleeps until it is killed.
pid_t child_with_lock(const fs::path& folder) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    const auto lock = try_lock_node(folder);
    const char answer = lock && lock->held() ? 'y' : 'n';
    (void)!write(ends[1], &answer, 1);
    pause();
    _exit(0);
  }
  char answer = 0;
  EXPECT_EQ(read(ends[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  close(ends[0]);
  close(ends[1]);
  return child;
}

TEST(NodeLock, KeepsASecondProcessOut) {
  const test::TempDir results;
  const fs::path folder = results / "node-12345678";
  const pid_t child = child_with_lock(folder);
  ASSERT_GT(child, 0);
  const auto lock = try_lock_node(folder);
  ASSERT_TRUE(lock);
  EXPECT_FALSE(lock->held());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(NodeLock, EndsWithItsProcess) {
  const test::TempDir results;
  const fs::path folder = results / "node-12345678";
  const pid_t child = child_with_lock(folder);
  ASSERT_GT(child, 0);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const auto lock = try_lock_node(folder);
  ASSERT_TRUE(lock);
  EXPECT_TRUE(lock->held());
}

TEST(NodeLock, WaitsAndNamesTheHolder) {
  const test::TempDir results;
  const fs::path folder = results / "node-12345678";
  const pid_t child = child_with_lock(folder);
  ASSERT_GT(child, 0);
  std::string holder;
  const auto lock = lock_node(folder, [&](const std::string& text) {
    holder = text;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  });
  ASSERT_TRUE(lock);
  EXPECT_TRUE(lock->held());
  EXPECT_NE(holder.find("process " + std::to_string(child)), std::string::npos) << holder;
}

// It threw bad_function_call: two evaluations at once ended with exit code 4.
TEST(NodeLock, WaitsWithoutTellingAnyone) {
  const test::TempDir results;
  const fs::path folder = results / "node-12345678";
  const pid_t child = child_with_lock(folder);
  ASSERT_GT(child, 0);
  std::thread later([child] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  });
  const auto lock = lock_node(folder, {});
  later.join();
  ASSERT_TRUE(lock);
  EXPECT_TRUE(lock->held());
}

TEST(NodeLock, OtherNodesAreFree) {
  const test::TempDir results;
  const auto a = try_lock_node(results / "a-12345678");
  const auto b = try_lock_node(results / "b-12345678");
  ASSERT_TRUE(a && b);
  EXPECT_TRUE(a->held() && b->held());
}

TEST(NodeLock, UnwritableFolderIsAnErrorWithItsPath) {
  const auto lock = try_lock_node("/proc/nowhere/node-12345678");
  ASSERT_FALSE(lock);
  EXPECT_NE(lock.error().message.find("/proc"), std::string::npos);
}

}  // namespace
}  // namespace nb
