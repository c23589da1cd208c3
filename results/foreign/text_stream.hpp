// A text file from its beginning, as UTF-8: what is packed with gzip is unpacked, UTF-16 with a
// byte order mark (as PowerShell writes it) is converted. Not thread-safe.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "harness/base/result.hpp"

namespace nb {

enum class TextCoding { kPlain, kGzip, kUtf16 };
TextCoding coding_of(std::string_view begin);  // of a file's first bytes

class TextStream {
 public:
  static Result<TextStream> open(const std::filesystem::path& path);
  ~TextStream();
  TextStream(TextStream&& other) noexcept;
  TextStream& operator=(TextStream&& other) noexcept;

  TextCoding coding() const;
  // Into `to`, which has room for `size` bytes; how many there were, 0 at the end. Errors: cannot
  // be read, damaged, unpacks to an absurd size.
  Result<std::size_t> read(char* to, std::size_t size);

 private:
  struct State;
  explicit TextStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// At most `most` bytes of the text.
Result<std::string> read_decoded(const std::filesystem::path& path,
                                 std::size_t most = static_cast<std::size_t>(-1));

}  // namespace nb
