#include "harness/base/say.hpp"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "harness/base/paint.hpp"

namespace nb {
namespace {

Paint paint_of_stdout = nullptr;
Paint paint_of_stderr = nullptr;

void put(std::string_view text, std::FILE* stream) {
  (void)std::fwrite(text.data(), 1, text.size(), stream);
}

void put_painted(const std::string& text, Paint paint, std::FILE* stream) {
  put(paint == nullptr ? text : paint(text), stream);
}

}  // namespace

void set_paint(Paint on_stdout, Paint on_stderr) {
  paint_of_stdout = on_stdout;
  paint_of_stderr = on_stderr;
}

void say_on_stdout(std::string_view text) {
  put_painted(visible_text(text), paint_of_stdout, stdout);
}

void say_on_stderr(std::string_view text) {
  std::string lines = visible_text(text);
  for (std::size_t at = 0; (at = lines.find('\n', at)) != lines.npos; ++at)
    if (at + 1 < lines.size() && lines.compare(at + 1, 2, "  ") != 0) lines.insert(at + 1, "  ");
  put_painted(lines, paint_of_stderr, stderr);
  (void)std::fflush(stderr);
}

void say_json(std::string_view json) { put(visible_json(json) + "\n", stdout); }

void redraw_line_on_stderr(std::string_view line) {
  put("\r" + visible_line(line) + "\x1b[K", stderr);
  (void)std::fflush(stderr);
}

void clear_terminal() { put("\x1b[H\x1b[2J", stdout); }

void put_on_stdout(std::string_view bytes) {
  if (::isatty(STDOUT_FILENO) == 1) return say_on_stdout(bytes);
  put(bytes, stdout);
}

}  // namespace nb
