// Progress of long work on stderr: a bar with rate and ETA on a terminal, one plain line every few
// seconds elsewhere, nothing when quiet. Not thread-safe: one owner.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace nb {

enum class ProgressMode { kAuto, kPlain, kQuiet };
void set_progress_mode(ProgressMode mode);
ProgressMode progress_mode();

// All that the program says on stderr goes through here. A stderr that is closed or full ends
// nothing: the work and the exit code are what counts.
void say_on_stderr(std::string_view text);

class Progress {
 public:
  Progress(std::string label, std::int64_t total, std::string unit);
  ~Progress();  // ends the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(std::int64_t done, const std::string& note = "");

 private:
  void print(std::int64_t done, const std::string& note, bool last);
  std::string label_;
  std::string unit_;
  std::int64_t total_;
  std::int64_t done_ = 0;
  std::int64_t first_done_ = -1;
  std::string note_;
  bool is_terminal_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_print_;
};

}  // namespace nb
