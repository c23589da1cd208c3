#include "harness/base/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "harness/base/say.hpp"
#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"

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

// "12/20 steps", "1/1 step", "3 steps".
std::string amount_text(const ProgressState& state) {
  if (state.total <= 0) return count_text(state.done, state.unit);
  return with_commas(state.done) + "/" + count_text(state.total, state.unit);
}

std::string rate_text(const ProgressState& state) {
  return state.rate > 0 ? ", " + human_rate(state.rate, state.unit + "s/s") : "";
}

std::string time_text(const ProgressState& state) {
  if (state.is_finished) return ", took " + human_time_ns(state.elapsed_ns);
  if (state.rate <= 0 || state.total <= state.done) return "";
  const double left_s = static_cast<double>(state.total - state.done) / state.rate;
  return ", " + human_time_ns(left_s * 1e9) + " left";
}

std::string note_text(const ProgressState& state) {
  return state.note.empty() ? "" : ", " + state.note;
}

}  // namespace

void set_progress_mode(ProgressMode new_mode) { mode() = new_mode; }
ProgressMode progress_mode() { return mode(); }

Progress::Progress(std::string label, std::int64_t total, std::string unit)
    : is_terminal_(mode() == ProgressMode::kAuto && stderr_is_terminal()),
      start_(Clock::now()),
      last_print_(start_) {
  state_.label = std::move(label);
  state_.unit = std::move(unit);
  state_.total = total;
}

Progress::~Progress() {
  // Short work that never printed a line prints none at its end.
  if (mode() != ProgressMode::kQuiet && last_print_ != start_) print(true);
}

void Progress::update(std::int64_t done, const std::string& note) {
  state_.done = done;
  state_.note = note;
  if (first_done_ < 0) {  // a resumed run starts in the middle: rate counts from there
    first_done_ = done;
    start_ = last_print_ = Clock::now();
  }
  if (mode() == ProgressMode::kQuiet) return;
  const auto every = is_terminal_ ? std::chrono::milliseconds(200) : std::chrono::seconds(5);
  if (Clock::now() - last_print_ >= every) print(false);
}

void Progress::print(bool last) {
  last_print_ = Clock::now();
  const double elapsed_s = std::chrono::duration<double>(last_print_ - start_).count();
  const auto made = static_cast<double>(state_.done - std::max<std::int64_t>(first_done_, 0));
  state_.rate = elapsed_s > 0 ? made / elapsed_s : 0;
  state_.elapsed_ns = elapsed_s * 1e9;
  state_.is_finished = last;
  if (!is_terminal_)
    say_on_stderr(progress_text(state_) + "\n");
  else
    // The last column stays free: some terminals break the line once it is filled.
    redraw_line_on_stderr(last ? "" : progress_bar(state_, terminal_width() - 1));
}

std::string progress_text(const ProgressState& state) {
  return state.label + ": " + amount_text(state) + rate_text(state) + time_text(state) +
         note_text(state);
}

std::string progress_bar(const ProgressState& state, std::size_t width) {
  constexpr std::size_t kWidest = 24, kNarrowest = 6;
  std::string line = progress_text(state);
  if (const std::size_t used = display_width(line) + 3;
      state.total > 0 && used + kNarrowest <= width) {
    const std::size_t columns = std::min(kWidest, width - used);
    const double share = static_cast<double>(state.done) / static_cast<double>(state.total);
    const auto filled =
        static_cast<std::size_t>(static_cast<double>(columns) * std::clamp(share, 0.0, 1.0));
    line.insert(state.label.size() + 2,
                "[" + std::string(filled, '#') + std::string(columns - filled, '.') + "] ");
    return line;
  }
  if (display_width(line) <= width) return line;
  line = state.label + ": " + amount_text(state) + rate_text(state) + time_text(state);
  if (display_width(line) <= width) return line;
  const std::string amount = amount_text(state) + time_text(state);
  const std::size_t rest = display_width(amount) + 2;
  if (rest >= width) return shortened(amount, width);
  return shortened(state.label, width - rest) + ": " + amount;
}

}  // namespace nb
