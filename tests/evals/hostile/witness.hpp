// What a hostile program should not be able to touch: files, a process, listening sockets; and
// whether somebody did.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "tests/support/temp_dir.hpp"

namespace nb::test {

class Witness {
 public:
  Witness();
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  // Puts this witness's names in place of {FOLDER}, {PROCESS}, {PORT}, {ABSTRACT}, {SECRET}.
  std::string aimed(std::string program) const;
  // Everything that is not as it was, one phrase each.
  std::vector<std::string> damage() const;
  // Processes that the sandboxes of this process left behind, by their command lines.
  static std::vector<std::string> stray_processes();

 private:
  std::map<std::string, std::string> files() const;
  std::string state_of_process() const;

  TempDir folder_;
  std::string secret_;
  int tcp_ = -1, local_ = -1, datagrams_ = -1, abstract_ = -1, udp_ = -1;
  int port_ = 0;
  pid_t process_ = 0;
  std::map<std::string, std::string> files_before_;
  std::string process_before_;
};

}  // namespace nb::test
