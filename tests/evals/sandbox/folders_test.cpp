// Removing and measuring a folder while somebody changes it.

#include "evals/sandbox/folders.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "harness/base/fs.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb::sandbox {
namespace {

class Folders : public testing::Test {
 protected:
  Folders() {
    root_ = temporary_ / "root";
    victim_ = temporary_ / "victim";
    fs::create_directories(root_);
    for (int i = 0; i < 20; ++i) {
      const auto written = write_file(victim_ / ("file" + std::to_string(i)), "stays");
      EXPECT_TRUE(written);
    }
    ::chmod(victim_.c_str(), 0751);
  }
  Descriptor open_root() const {
    return Descriptor(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  bool is_victim_untouched() const {
    struct stat about {};
    return ::stat(victim_.c_str(), &about) == 0 && (about.st_mode & 0777) == 0751 &&
           std::distance(fs::directory_iterator(victim_), fs::directory_iterator()) == 20;
  }
  std::ptrdiff_t entries() const {
    return std::distance(fs::directory_iterator(root_), fs::directory_iterator());
  }
  test::TempDir temporary_;
  fs::path root_, victim_;
};

// A program swapped folders of its scratch for links while it was being removed, and npubench
// emptied what the links led to.
TEST_F(Folders, ThatBecomeLinksWhileTheyAreRemovedLeadNowhere) {
  const auto start = std::chrono::steady_clock::now();
  const auto is_over = [&] {
    return std::chrono::steady_clock::now() - start > std::chrono::seconds(2);
  };
  std::jthread swapper([&] {
    // In one step a link for a folder, and back; what has been removed is made again. Many, so that
    // some are swapped between two looks.
    for (int i = 0; !is_over(); i = (i + 1) % 100) {
      const fs::path folder = root_ / ("d" + std::to_string(i));
      const fs::path link = temporary_ / ("link" + std::to_string(i));
      if (::renameat2(AT_FDCWD, link.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0)
        continue;
      ::mkdir(folder.c_str(), 0700);
      ::rmdir(link.c_str());
      if (::symlink(victim_.c_str(), link.c_str()) != 0) continue;
    }
  });
  const Descriptor root = open_root();
  while (!is_over()) {
    folder_use(root.get(), 1'000, 16);
    empty_folder(root.get());
    if (!is_victim_untouched()) break;
  }
  swapper.join();
  empty_folder(root.get());
  EXPECT_EQ(entries(), 0);
  EXPECT_TRUE(is_victim_untouched());
}

TEST_F(Folders, LinksAreNoSubFolders) {
  fs::create_directory_symlink(victim_, root_ / "link");
  const Descriptor root = open_root();
  EXPECT_FALSE(open_folder(root.get(), "link").is_open());
  EXPECT_FALSE(open_sub_folder(root.get(), "link", S_IRWXU).is_open());
  empty_folder(root.get());
  EXPECT_EQ(entries(), 0);
  EXPECT_TRUE(is_victim_untouched());
}

TEST_F(Folders, OfAnotherOwnerAreLeftAlone) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_TRUE(write_file(root_ / "theirs" / "file", "stays"));
  ASSERT_EQ(::chown((root_ / "theirs").c_str(), 12345, 12345), 0);
  const Descriptor root = open_root();
  empty_folder(root.get());
  EXPECT_EQ(read_file(root_ / "theirs" / "file").value_or("gone"), "stays");
}

// The same file system mounted once more, so that its number does not tell.
TEST_F(Folders, ThatAreMountedAreLeftAlone) {
  fs::create_directories(root_ / "mounted");
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount(victim_.c_str(), (root_ / "mounted").c_str(), nullptr, MS_BIND, nullptr) != 0)
      ::_exit(2);
    const Descriptor root = open_root();
    empty_folder(root.get());
    ::_exit(is_victim_untouched() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "may not mount here";
  EXPECT_EQ(status, 0);
}

TEST_F(Folders, AreEmptiedWhateverIsInThem) {
  const Descriptor root = open_root();
  for (int i = 0; i < 2'000; ++i) {
    const int number = ::openat(root.get(), ("file" + std::to_string(i)).c_str(),
                                O_CREAT | O_WRONLY | O_CLOEXEC, 0);
    ASSERT_GE(number, 0);
    ::close(number);
  }
  for (const char* name : {"line\nfeed", "\xff\xfe", " ", "-rf", "moved-0", "..."}) {
    ASSERT_EQ(::mkdirat(root.get(), name, 0700), 0) << name;
    const Descriptor inner = open_sub_folder(root.get(), name, S_IRWXU);
    ASSERT_EQ(::mkdirat(inner.get(), "moved-0", 0700), 0);
    ASSERT_EQ(::mkdirat(inner.get(), "closed", 0), 0);
  }
  ASSERT_EQ(::mkfifoat(root.get(), "pipe", 0600), 0);
  Descriptor deep = open_root();
  for (int i = 0; i < 600; ++i) {
    ASSERT_EQ(::mkdirat(deep.get(), "deeper", 0700), 0);
    deep = open_sub_folder(deep.get(), "deeper", S_IRWXU);
    ASSERT_TRUE(deep.is_open());
  }
  for (const char* name : {"a", "b"}) {
    ASSERT_EQ(::mkdirat(deep.get(), name, 0), 0);
  }
  empty_folder(root.get());
  EXPECT_EQ(entries(), 0);
}

// What a program cannot list itself counts too.
TEST_F(Folders, UseCountsWhatIsClosed) {
  const Descriptor root = open_root();
  ASSERT_TRUE(write_file(root_ / "closed" / "file", std::string(50'000, 'x')));
  ASSERT_EQ(::chmod((root_ / "closed").c_str(), 0300), 0);
  EXPECT_GE(folder_use(root.get(), 100, 16).bytes, 50'000U);
  EXPECT_EQ(folder_use(root.get(), 100, 16).entries, 2);
}

TEST_F(Folders, NamelessFilesOfAProcessCount) {
  const Descriptor root = open_root();
  EXPECT_EQ(nameless_bytes(::getpid(), root.get()), 0U);
  ASSERT_TRUE(write_file(root_ / "file", std::string(50'000, 'x')));
  const Descriptor file(::openat(root.get(), "file", O_RDONLY | O_CLOEXEC));
  const Descriptor again(::dup(file.get()));
  EXPECT_EQ(nameless_bytes(::getpid(), root.get()), 0U);
  ASSERT_EQ(::unlinkat(root.get(), "file", 0), 0);
  EXPECT_GE(nameless_bytes(::getpid(), root.get()), 50'000U);
  EXPECT_LT(nameless_bytes(::getpid(), root.get()), 100'000U);
}

}  // namespace
}  // namespace nb::sandbox
