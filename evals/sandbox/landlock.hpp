// Landlock: which files a process may touch, without namespaces or privileges (kernel 5.13 and
// later).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/result.hpp"

namespace nb::sandbox {

// The kernel's version of the interface; 0: it has none or does not allow it.
int landlock_version();

// An owned file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  void close();

 private:
  int number_;
};

struct LandlockPaths {
  std::vector<std::filesystem::path> readable;  // read and execute, with everything below
  std::vector<std::filesystem::path> devices;   // read and write
  int writable = -1;  // an open folder: everything but execute and sockets; -1: none
};
// A rule set that allows these paths and no other; a child gives it to landlock_restrict_self.
// Paths that are not there are left out.
Result<Descriptor> landlock_rules(const LandlockPaths& paths);
// What rules of that version do not cover, one phrase each.
std::vector<std::string> landlock_gaps(int version);

}  // namespace nb::sandbox
