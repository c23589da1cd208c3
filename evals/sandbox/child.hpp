// A running process of a trial: its end, its processor time, its output. Killed when destroyed,
// which waits for its end. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "evals/sandbox/guard.hpp"

namespace nb::sandbox {

class Child {
 public:
  // `status`: to read what bwrap says of the process inside; closed: there is no bwrap around it.
  Child(Launched launched, Descriptor status);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  // The process itself, inside of bwrap once that has said which it is.
  pid_t inner() const { return inner_; }
  // A descriptor that can be read from when the process has ended.
  int notice() const { return end_.get(); }
  // Learns whether the process has ended, and what bwrap has said.
  void look();
  bool has_ended() const { return has_ended_; }
  // Nobody knows how it ended, since the guard that started it was killed, which ends it too.
  bool is_lost() const { return is_lost_; }
  int exit_code() const { return exit_code_; }     // 128 + signal when killed
  std::int64_t cpu_ms() const { return cpu_ms_; }  // when it has ended: of all its threads
  // The process inside first, so that bwrap can end as usual; if that takes long, bwrap too, with
  // which everything in its namespaces dies. To be called again until it has ended.
  void kill();

 private:
  pid_t pid_, inner_;
  Descriptor status_, end_;
  std::string said_;
  bool has_ended_ = false, is_lost_ = false;
  int exit_code_ = 0;
  std::int64_t cpu_ms_ = 0;
  std::chrono::steady_clock::time_point killed_{};
};

// Everything that can be read now, behind `text`, up to about `most` bytes in all; false at the end
// of the stream.
bool read_all(const Descriptor& from, std::string& text, std::size_t most);

}  // namespace nb::sandbox
