#include "harness/base/file_lock.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "harness/base/fs.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

using test::TempDir;

TEST(FileLock, OneHolderAtATimeWhoMaySign) {
  const TempDir dir;
  const fs::path file = dir / "new/.lock";
  {
    const auto first = FileLock::try_acquire(file);
    ASSERT_TRUE(first && first->held());
    first->sign(", night n1");
    const auto second = FileLock::try_acquire(file);
    ASSERT_TRUE(second);
    EXPECT_FALSE(second->held());
    EXPECT_TRUE(lock_holder(file).ends_with(", night n1")) << lock_holder(file);
    EXPECT_TRUE(lock_holder(file).starts_with("process "));
  }
  EXPECT_TRUE(FileLock::try_acquire(file)->held());
  EXPECT_EQ(lock_holder(dir / "none"), "another process");
}

// A history that is its own lock: whoever waited writes into the file that is there now.
TEST(FileLock, AFileThatWasReplacedWhileWaitingIsOpenedAnew) {
  const TempDir dir;
  const fs::path file = dir / "lines";
  ASSERT_TRUE(write_file(file, "one\n"));
  std::optional<FileLock> first = std::move(*FileLock::try_acquire(file));
  ASSERT_TRUE(first->held());
  EXPECT_EQ(read_file(file).value(), "one\n") << "a lock that is not signed changes nothing";
  std::thread waits([&] {
    const auto second = FileLock::acquire(file, [&](const std::string&) {
      ASSERT_TRUE(write_file(file, "one\ntwo\n"));
      first.reset();
    });
    ASSERT_TRUE(second && second->held());
    const auto third = FileLock::try_acquire(file);
    ASSERT_TRUE(third);
    EXPECT_FALSE(third->held()) << "the lock is on a file that is gone";
  });
  waits.join();
}

}  // namespace
}  // namespace nb
