// SHA-256 over bytes, files and JSON values (libcrypto). Digests are 64 lower-case hex digits.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"

namespace nb {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void update(std::string_view bytes);
  void update(std::span<const std::byte> bytes);
  std::string hex();  // ends the stream

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// "<length>:<bytes>": fed with several texts, neither their order nor their borders can be
// mistaken.
void update_netstring(Sha256& hash, std::string_view text);

std::string sha256_hex(std::string_view bytes);
Result<std::string> sha256_file(const std::filesystem::path& path);
// Of the one-line canonical dump (json_io.hpp); NaN is an NB_CHECK failure.
std::string sha256_json(const Json& value);

}  // namespace nb
