// Unicode's normal form C, as Qwen2's tokenizer takes every text: letters and their accents as one
// code point where there is one. Through utf8proc (Unicode 15 in Debian 12). Pure.
#pragma once

#include <string>
#include <string_view>

namespace nb {

// Runs of bytes that are not UTF-8 stay as they are. Text of ASCII alone is its own normal form.
std::string nfc(std::string_view text);

}  // namespace nb
