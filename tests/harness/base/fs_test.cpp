#include "harness/base/fs.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "harness/base/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

class FailingWrites {
 public:
  explicit FailingWrites(int countdown) { fail_writes_after(countdown, ENOSPC); }
  ~FailingWrites() { fail_writes_after(0, 0); }
  FailingWrites(const FailingWrites&) = delete;
  FailingWrites& operator=(const FailingWrites&) = delete;
};

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(Fs, WrittenBytesReadBack) {
  const test::TempDir dir;
  const std::string bytes("a\0\n\xff", 4);
  ASSERT_TRUE(write_file(dir / "new/folder/x", bytes).has_value());
  EXPECT_EQ(read_file(dir / "new/folder/x").value(), bytes);
  ASSERT_TRUE(write_file(dir / "new/folder/x", "").has_value());
  EXPECT_EQ(read_file(dir / "new/folder/x").value(), "");
  EXPECT_EQ(entries(dir / "new/folder"), 1U);
}

TEST(Fs, ReadsFilesThatSayNoSize) {
  EXPECT_NE(read_file("/proc/self/status").value().find("Name:"), std::string::npos);
}

TEST(Fs, ReadingErrorsNamePathAndReason) {
  const test::TempDir dir;
  EXPECT_EQ(read_file("no/such").error().message, "cannot read no/such: No such file or directory");
  EXPECT_EQ(read_file("no/such").error().code, ErrorCode::kBadInput);
  EXPECT_EQ(read_file(dir.path()).error().message,
            "cannot read " + dir.path().string() + ": Is a directory");
}

TEST(Fs, FullDiskLeavesTheOldFileAndNoTemporary) {
  const test::TempDir dir;
  ASSERT_TRUE(write_file(dir / "x", "old").has_value());
  const FailingWrites disk(1);
  const auto result = write_file(dir / "x", "new");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kRun);
  EXPECT_EQ(result.error().message,
            "cannot write " + (dir / "x").string() + ": No space left on device");
  EXPECT_EQ(read_file(dir / "x").value(), "old");
  EXPECT_EQ(entries(dir.path()), 1U);
}

TEST(Fs, TheNthWriteAndAllLaterOnesFail) {
  const test::TempDir dir;
  const FailingWrites disk(3);
  EXPECT_TRUE(write_file(dir / "1", "1").has_value());
  EXPECT_TRUE(append_file(dir / "2", "2").has_value());
  EXPECT_FALSE(write_file(dir / "3", "3").has_value());
  EXPECT_FALSE(append_file(dir / "4", "4").has_value());
}

TEST(Fs, FailedAppendLeavesWholeLines) {
  const test::TempDir dir;
  ASSERT_TRUE(append_file(dir / "log", "one\n").has_value());
  {
    const FailingWrites disk(1);
    EXPECT_FALSE(append_file(dir / "log", "two\n").has_value());
  }
  EXPECT_EQ(read_file(dir / "log").value(), "one\n");
}

TEST(Fs, ALineAfterHalfALineIsOfItsOwn) {
  const test::TempDir dir;
  ASSERT_TRUE(append_line(dir / "log", "one").has_value());
  ASSERT_TRUE(append_file(dir / "log", "tw").has_value());
  ASSERT_TRUE(append_line(dir / "log", "three").has_value());
  EXPECT_EQ(read_file(dir / "log").value(), "one\ntw\nthree\n");
}

// A kill left half a line of a history: the file that readers have is never written to.
TEST(Fs, ALineIsThereWholeOrNotAtAll) {
  const test::TempDir dir;
  ASSERT_TRUE(append_line(dir / "log", "one").has_value());
  fs::create_hard_link(dir / "log", dir / "before");
  ASSERT_TRUE(append_line(dir / "log", "two").has_value());
  EXPECT_EQ(read_file(dir / "before").value(), "one\n");
  EXPECT_EQ(read_file(dir / "log").value(), "one\ntwo\n");
  {
    const FailingWrites disk(1);
    EXPECT_FALSE(append_line(dir / "log", "three").has_value());
  }
  EXPECT_EQ(read_file(dir / "log").value(), "one\ntwo\n");
}

TEST(Fs, AChildProcessCanBeToldToFailItsWrites) {
  SubprocessOptions options;
  options.environment = {{"NPUBENCH_FAIL_WRITE", "1"}, {"GTEST_OUTPUT", ""}};
  const auto child =
      run_subprocess({"/proc/self/exe", "--gtest_filter=Fs.WrittenBytesReadBack"}, options);
  EXPECT_EQ(child.value().exit_code, 1);
  EXPECT_NE(child.value().out.find("Fs.WrittenBytesReadBack"), std::string::npos);
}

TEST(Fs, WriterShowsNothingBeforeCommit) {
  const test::TempDir dir;
  {
    FileWriter dropped = FileWriter::create(dir / "x").value();
    ASSERT_TRUE(dropped.write("half").has_value());
    EXPECT_FALSE(fs::exists(dir / "x"));
  }
  EXPECT_EQ(entries(dir.path()), 0U);
  FileWriter first = FileWriter::create(dir / "x").value();
  FileWriter writer = std::move(first);
  ASSERT_TRUE(writer.write("who").has_value());
  ASSERT_TRUE(writer.write("le").has_value());
  ASSERT_TRUE(writer.commit().has_value());
  EXPECT_EQ(read_file(dir / "x").value(), "whole");
  EXPECT_EQ(entries(dir.path()), 1U);
}

// A run that was killed between naming a temporary file and renaming it left that file behind.
TEST(Fs, ANewFileNeverHasATemporaryName) {
  const test::TempDir dir;
  const int nameless = ::open(dir.path().c_str(), O_WRONLY | O_TMPFILE, 0666);
  if (nameless < 0) GTEST_SKIP() << "no files without a name here";
  ::close(nameless);
  const int watch = ::inotify_init1(IN_NONBLOCK);
  ASSERT_GE(::inotify_add_watch(watch, dir.path().c_str(), IN_CREATE | IN_MOVED_TO), 0);
  ASSERT_TRUE(write_file(dir / "new.json", "{}"));
  alignas(inotify_event) std::array<char, 4096> events{};
  const ssize_t size = ::read(watch, events.data(), events.size());
  ::close(watch);
  std::vector<std::string> names;
  for (ssize_t at = 0; at < size;) {
    const auto* event = reinterpret_cast<const inotify_event*>(events.data() + at);
    names.emplace_back(static_cast<const char*>(event->name));
    at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
  }
  EXPECT_EQ(names, std::vector<std::string>{"new.json"});
}

TEST(Fs, WriterAfterAFailureRefusesToCommit) {
  const test::TempDir dir;
  FileWriter writer = FileWriter::create(dir / "x").value();
  {
    const FailingWrites disk(1);
    EXPECT_FALSE(writer.write("a").has_value());
  }
  EXPECT_FALSE(writer.write("b").has_value());
  EXPECT_FALSE(writer.commit().has_value());
  EXPECT_EQ(entries(dir.path()), 0U);
}

TEST(Fs, WritingIntoAFileAsFolderIsASentence) {
  const test::TempDir dir;
  ASSERT_TRUE(write_file(dir / "x", "").has_value());
  const auto result = write_file(dir / "x/y", "");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message,
            "cannot make folder " + (dir / "x").string() + ": Not a directory");
}

TEST(Fs, MapsFilesAndEmptyFiles) {
  const test::TempDir dir;
  ASSERT_TRUE(write_file(dir / "x", "abc").has_value());
  ASSERT_TRUE(write_file(dir / "empty", "").has_value());
  const MappedFile file = MappedFile::open(dir / "x").value();
  ASSERT_EQ(file.bytes().size(), 3U);
  EXPECT_EQ(static_cast<char>(file.bytes()[2]), 'c');
  EXPECT_TRUE(MappedFile::open(dir / "empty").value().bytes().empty());
  ASSERT_TRUE(write_file(dir / "large", std::string(100000, 'y')).has_value());
  const MappedFile large = MappedFile::open(dir / "large").value();
  large.release(0, 100000);
  EXPECT_EQ(static_cast<char>(large.bytes()[5000]), 'y');  // it is read again
  EXPECT_EQ(MappedFile::open(dir.path()).error().message,
            "cannot map " + dir.path().string() + ": Is a directory");
}

TEST(Fs, FreeSpaceIsThatOfTheNearestParent) {
  const test::TempDir dir;
  EXPECT_GT(free_disk_bytes(dir / "not/yet/there").value(), 0U);
}

}  // namespace
}  // namespace nb
