#include "harness/base/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "harness/base/table.hpp"

namespace nb {

namespace {

using Clock = std::chrono::steady_clock;

ProgressMode& mode() {
  static ProgressMode value = ProgressMode::kAuto;
  return value;
}

bool stderr_is_terminal() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && (term == nullptr || std::string_view(term) != "dumb");
}

}  // namespace

void set_progress_mode(ProgressMode new_mode) { mode() = new_mode; }
ProgressMode progress_mode() { return mode(); }

Progress::Progress(std::string label, std::int64_t total, std::string unit)
    : label_(std::move(label)),
      unit_(std::move(unit)),
      total_(total),
      is_terminal_(mode() == ProgressMode::kAuto && stderr_is_terminal()),
      start_(Clock::now()),
      last_print_(start_) {}

Progress::~Progress() {
  // Short work that never printed a line prints none at its end.
  if (mode() != ProgressMode::kQuiet && last_print_ != start_) print(done_, note_, true);
}

void Progress::update(std::int64_t done, const std::string& note) {
  done_ = done;
  note_ = note;
  if (first_done_ < 0) {  // a resumed run starts in the middle: rate counts from there
    first_done_ = done;
    start_ = last_print_ = Clock::now();
  }
  if (mode() == ProgressMode::kQuiet) return;
  const auto every = is_terminal_ ? std::chrono::milliseconds(200) : std::chrono::seconds(5);
  if (Clock::now() - last_print_ >= every) print(done, note, false);
}

void Progress::print(std::int64_t done, const std::string& note, bool last) {
  last_print_ = Clock::now();
  const double elapsed_s = std::chrono::duration<double>(last_print_ - start_).count();
  const double rate =
      elapsed_s > 0 ? static_cast<double>(done - std::max<std::int64_t>(first_done_, 0)) / elapsed_s
                    : 0;
  std::string line = label_ + ": ";
  if (is_terminal_ && total_ > 0) {
    constexpr std::int64_t kWidth = 24;
    const auto filled = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(static_cast<double>(kWidth) * static_cast<double>(done) /
                                  static_cast<double>(total_)),
        0, kWidth);
    line += "[" + std::string(static_cast<std::size_t>(filled), '#') +
            std::string(static_cast<std::size_t>(kWidth - filled), '.') + "] ";
  }
  line += with_commas(done);
  if (total_ > 0) line += "/" + with_commas(total_);
  line += " " + unit_;
  if (rate > 0) line += ", " + human_rate(rate, unit_ + "/s");
  if (last)
    line += ", took " + human_time_ns(elapsed_s * 1e9);
  else if (rate > 0 && total_ > done)
    line += ", " + human_time_ns(static_cast<double>(total_ - done) / rate * 1e9) + " left";
  if (!note.empty()) line += ", " + note;
  const std::string text = is_terminal_ ? "\r" + line + "\x1b[K" + (last ? "\n" : "") : line + "\n";
  say_on_stderr(text);
}

void say_on_stderr(std::string_view text) {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  (void)std::fflush(stderr);
}

}  // namespace nb
