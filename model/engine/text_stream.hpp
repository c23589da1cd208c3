// Text out of tokens as they come, in pieces that are valid UTF-8: a character that is not whole
// yet is held back, what can become none is U+FFFD. All pieces together are Tokenizer::decode of
// all tokens.
#pragma once

#include <string>

#include "model/tokenizer/tokenizer.hpp"

namespace nb {

class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}  // must outlive this

  std::string push(int token);  // what can be shown now
  std::string finish();         // what was held back, and the stream is new again

 private:
  const Tokenizer& tokenizer_;
  std::string held_;
};

// Length of the longest end of `bytes` that is the beginning of a character and no more; 0 to 3.
std::size_t unfinished_utf8(std::string_view bytes);

}  // namespace nb
