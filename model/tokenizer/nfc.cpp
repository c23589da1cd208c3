#include "model/tokenizer/nfc.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "harness/base/check.hpp"
#include "model/tokenizer/utf8.hpp"

namespace nb {
namespace {

struct Freed {
  void operator()(utf8proc_uint8_t* bytes) const { std::free(bytes); }  // utf8proc's malloc
};

void append_normal(std::string_view valid, std::string& out) {
  utf8proc_uint8_t* bytes = nullptr;
  const auto size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(valid.data()),
                   static_cast<utf8proc_ssize_t>(valid.size()), &bytes,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, Freed> owned(bytes);
  NB_CHECK(size >= 0, "[nfc] {}", utf8proc_errmsg(size));
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

}  // namespace

std::string nfc(std::string_view text) {
  if (std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
    return std::string(text);
  std::string out;
  while (!text.empty()) {
    const std::size_t valid = utf8_valid_prefix(text);
    if (valid > 0) append_normal(text.substr(0, valid), out);
    text.remove_prefix(valid);
    std::size_t stray = 0;
    while (stray < text.size() && utf8_sequence_length(text.substr(stray)) == 0) ++stray;
    out.append(text.substr(0, stray));
    text.remove_prefix(stray);
  }
  return out;
}

}  // namespace nb
