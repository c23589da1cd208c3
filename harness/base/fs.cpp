#include "harness/base/fs.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

namespace nb {

namespace {

std::string sentence(std::string_view what, const fs::path& path, int errno_value) {
  return fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno_value));
}

// A file that cannot be read was named by the user; one that cannot be written, or for which there
// is no memory, is the machine's fault.
tl::unexpected<Error> read_error(std::string_view what, const fs::path& path, int errno_value) {
  if (errno_value == ENOMEM) return run_error(sentence(what, path, errno_value));
  return bad_input(sentence(what, path, errno_value));
}
tl::unexpected<Error> write_error(std::string_view what, const fs::path& path, int errno_value) {
  return run_error(sentence(what, path, errno_value));
}

class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// The failing disk of tests: writes left before every write fails; below 1: never.
struct FailingDisk {
  std::atomic<int> countdown{0};
  std::atomic<int> errno_value{ENOSPC};
  FailingDisk() {
    if (const char* text = std::getenv("NPUBENCH_FAIL_WRITE"); text != nullptr)
      countdown = std::atoi(text);
  }
  bool fails() {
    int left = countdown.load();
    while (left > 1 && !countdown.compare_exchange_weak(left, left - 1)) {
    }
    return left == 1;
  }
};

FailingDisk& failing_disk() {
  static FailingDisk disk;
  return disk;
}

// 0 or an errno value; `size` bytes are written when it is 0.
int write_all(int descriptor, const void* data, std::size_t size) {
  if (failing_disk().fails()) return failing_disk().errno_value;
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(descriptor, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
  return 0;
}

// A rename is on the disk only when its folder is. File systems that cannot do it say EINVAL.
int sync_folder(const fs::path& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.get() < 0) return errno;
  return ::fsync(descriptor.get()) == 0 || errno == EINVAL ? 0 : errno;
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

}  // namespace

void fail_writes_after(int countdown, int errno_value) {
  failing_disk().errno_value = errno_value;
  failing_disk().countdown = countdown;
}

Result<std::string> read_file(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return read_error("read", path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return read_error("read", path, errno);
  if (S_ISDIR(status.st_mode)) return read_error("read", path, EISDIR);
  std::string text;
  const auto grow = [&](std::size_t size) -> Result<void> {
    try {
      text.resize(size);
      return {};
    } catch (const std::exception&) {  // bad_alloc, or length_error
      return run_error(
          fmt::format("{}: {} bytes or more do not fit into memory", path.string(), size));
    }
  };
  // One byte more than the size, so that a regular file needs no second growth to see its end.
  // Pipes and /proc say size 0.
  std::size_t used = 0;
  NB_TRY_VOID(grow(static_cast<std::size_t>(status.st_size) + 1));
  for (;;) {
    const ssize_t got = ::read(file.get(), text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return read_error("read", path, errno);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
    if (used == text.size()) NB_TRY_VOID(grow(2 * used + 4096));
  }
  text.resize(used);
  return text;
}

Result<void> write_file(const fs::path& path, std::string_view bytes) {
  NB_TRY(FileWriter writer, FileWriter::create(path));
  NB_TRY_VOID(writer.write(bytes));
  return writer.commit();
}

Result<void> append_file(const fs::path& path, std::string_view bytes) {
  NB_TRY_VOID(make_folders(folder_of(path)));
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (file.get() < 0) return write_error("append to", path, errno);
  const off_t size_before = ::lseek(file.get(), 0, SEEK_END);
  if (const int failed = write_all(file.get(), bytes.data(), bytes.size()); failed != 0) {
    // No half line stays behind; if this fails too, the first error is the one to tell.
    if (size_before >= 0 && ::ftruncate(file.get(), size_before) != 0) errno = failed;
    return write_error("append to", path, failed);
  }
  return {};
}

// Written anew and renamed: a long line that is appended can be half there when the process is
// killed. Callers hold a lock, so that no line of another process is lost.
Result<void> append_line(const fs::path& path, const std::string& line) {
  std::string text;
  std::error_code ignored;
  if (fs::exists(path, ignored)) {
    NB_TRY(text, read_file(path));
  }
  if (!text.empty() && text.back() != '\n') text += '\n';
  return write_file(path, text + line + '\n');
}

Result<void> make_folders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error && !fs::is_directory(path, error) && !error)
    error = std::make_error_code(std::errc::not_a_directory);
  if (error) return write_error("make folder", path, error.value());
  return {};
}

Result<std::uint64_t> free_disk_bytes(const fs::path& path) {
  std::error_code error;
  fs::path there = fs::absolute(path, error);
  while (!error && !fs::exists(there, error) && there.has_relative_path())
    there = there.parent_path();
  const fs::space_info space = fs::space(there, error);
  if (error) return read_error("query the free space of", path, error.value());
  return space.available;
}

Result<FileWriter> FileWriter::create(const fs::path& path) {
  static std::atomic<unsigned> next_number{0};
  NB_TRY_VOID(make_folders(folder_of(path)));
  FileWriter writer;
  writer.path_ = path;
  // Two processes or threads that write the same file never share a temporary; the last rename
  // wins.
  writer.temporary_ = folder_of(path) / fmt::format(".{}.{}-{}.tmp", path.filename().string(),
                                                    ::getpid(), next_number++);
  // Without a name until it is whole, where the file system can (not NFS): a killed process then
  // leaves nothing behind.
  static const bool can_name_later = ::access("/proc/self/fd", X_OK) == 0;
  if (can_name_later)
    writer.descriptor_ = ::open(folder_of(path).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  writer.is_nameless_ = writer.descriptor_ >= 0;
  if (!writer.is_nameless_)
    writer.descriptor_ =
        ::open(writer.temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (writer.descriptor_ < 0) return write_error("write", path, errno);
  return writer;
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      is_nameless_(other.is_nameless_),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

FileWriter& FileWriter::operator=(FileWriter&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  std::swap(is_nameless_, other.is_nameless_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FileWriter::~FileWriter() { drop(); }

void FileWriter::drop() noexcept {
  if (descriptor_ < 0) return;
  ::close(std::exchange(descriptor_, -1));
  ::unlink(temporary_.c_str());
}

Result<void> FileWriter::write(std::span<const std::byte> bytes) {
  if (descriptor_ < 0) return write_error("write", path_, EBADF);
  if (const int failed = write_all(descriptor_, bytes.data(), bytes.size()); failed != 0) {
    drop();
    return write_error("write", path_, failed);
  }
  return {};
}

Result<void> FileWriter::write(std::string_view bytes) {
  return write(std::as_bytes(std::span<const char>(bytes)));
}

Result<void> FileWriter::commit() {
  if (descriptor_ < 0) return write_error("write", path_, EBADF);
  int failed = ::fsync(descriptor_) == 0 || errno == EINVAL ? 0 : errno;
  bool is_named = false;
  if (failed == 0 && is_nameless_) {
    const std::string self = fmt::format("/proc/self/fd/{}", descriptor_);
    const auto name = [&](const fs::path& as) {
      return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, as.c_str(), AT_SYMLINK_FOLLOW) == 0;
    };
    // A new file gets its name at once: between a temporary one and a rename a kill may fall.
    is_named = name(path_);
    if (!is_named && (errno != EEXIST || !name(temporary_))) failed = errno;
  }
  if (failed == 0 && !is_named && ::rename(temporary_.c_str(), path_.c_str()) != 0) failed = errno;
  drop();  // nothing is under the temporary's name by now
  if (failed == 0) failed = sync_folder(folder_of(path_));
  if (failed != 0) return write_error("write", path_, failed);
  return {};
}

Result<MappedFile> MappedFile::open(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return read_error("read", path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return read_error("read", path, errno);
  if (!S_ISREG(status.st_mode))
    return read_error("map", path, S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
  MappedFile mapped;
  if (status.st_size == 0) return mapped;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) return read_error("map", path, errno);
  mapped.bytes_ = {static_cast<const std::byte*>(data), size};
  return mapped;
}

void MappedFile::release(std::size_t begin, std::size_t end) const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t first = (begin + page - 1) / page * page, last = end / page * page;
  if (first < last)  // advice: what fails is only not given back
    static_cast<void>(
        ::madvise(const_cast<std::byte*>(bytes_.data()) + first, last - first, MADV_DONTNEED));
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace nb
