#include "harness/base/say.hpp"

#include <unistd.h>

#include <cstdio>
#include <string>

namespace nb {
namespace {

void put(std::string_view text, std::FILE* stream) {
  (void)std::fwrite(text.data(), 1, text.size(), stream);
}

}  // namespace

void say_on_stdout(std::string_view text) { put(visible_text(text), stdout); }

void say_on_stderr(std::string_view text) {
  std::string lines = visible_text(text);
  for (std::size_t at = 0; (at = lines.find('\n', at)) != lines.npos; ++at)
    if (at + 1 < lines.size() && lines.compare(at + 1, 2, "  ") != 0) lines.insert(at + 1, "  ");
  put(lines, stderr);
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
