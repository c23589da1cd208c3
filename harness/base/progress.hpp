// Progress of long work on stderr: on a terminal one line with a bar, rate and time left, no wider
// than the terminal, redrawn in place and erased at the end; elsewhere one plain line every few
// seconds; nothing when quiet. Not thread-safe: one owner.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace nb {

enum class ProgressMode { kAuto, kPlain, kQuiet };
void set_progress_mode(ProgressMode mode);
ProgressMode progress_mode();

struct ProgressState {
  std::string label;  // "train ascend_910b3"
  std::string unit;   // of one: "step"
  std::int64_t done = 0;
  std::int64_t total = 0;  // 0: unknown
  double rate = 0;         // units a second; 0: unknown
  double elapsed_ns = 0;
  std::string note = {};     // "loss 3.2"
  bool is_finished = false;  // says how long it took instead of what is left
};
// "train ascend_910b3: 12/20 steps, 5.20 steps/s, 1.54 s left, loss 3.2", as wide as it is.
std::string progress_text(const ProgressState& state);
// The same with a bar, in at most `width` columns: first the bar goes, then the note, the rate, the
// end of the label.
std::string progress_bar(const ProgressState& state, std::size_t width);

class Progress {
 public:
  // unit: of one thing, "step".
  Progress(std::string label, std::int64_t total, std::string unit);
  ~Progress();  // erases the line; off a terminal a last plain line where there was one before
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(std::int64_t done, const std::string& note = "");

 private:
  void print(bool last);
  ProgressState state_;
  std::int64_t first_done_ = -1;
  bool is_terminal_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_print_;
};

}  // namespace nb
