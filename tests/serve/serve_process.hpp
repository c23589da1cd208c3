// `npubench serve` as a process of its own: started, asked where it listens, ended or killed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace nb::test {

class ServeProcess {
 public:
  // npubench serve --json <arguments...>; waits for its first line. --port 0 unless one is given.
  explicit ServeProcess(std::vector<std::string> arguments);
  ~ServeProcess();  // kills it, if it runs
  ServeProcess(const ServeProcess&) = delete;
  ServeProcess& operator=(const ServeProcess&) = delete;

  const std::string& first_line() const { return first_line_; }  // empty: it ended before
  int port() const { return port_; }
  std::string api() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1"; }
  void signal(int number) const;
  // Its exit code, 128 + a signal; -1: it did not end in time.
  int wait(std::chrono::milliseconds limit = std::chrono::seconds(60));

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  int port_ = 0;
  std::string first_line_;
};

}  // namespace nb::test
