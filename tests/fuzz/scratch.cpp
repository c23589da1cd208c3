#include "tests/fuzz/scratch.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace nb::test {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::error_code ignored;
    const fs::path memory = "/dev/shm";
    std::string name =
        ((fs::is_directory(memory, ignored) ? memory : fs::temp_directory_path()) / "fuzz.XXXXXX")
            .string();
    if (mkdtemp(name.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), "mkdtemp " + name);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

const fs::path& scratch_folder() {
  static const Folder kFolder;
  return kFolder.path();
}

fs::path scratch_file(const fs::path& name, std::string_view bytes) {
  fs::path path = scratch_folder() / name;
  int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 && errno == ENOENT) {
    fs::create_directories(path.parent_path());
    file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  }
  const bool is_written =
      file >= 0 && write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  const int reason = errno;
  if (file >= 0) close(file);
  if (!is_written) throw std::system_error(reason, std::generic_category(), path.string());
  return path;
}

}  // namespace nb::test
