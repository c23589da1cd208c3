// Takes a tar archive apart as its bytes come (POSIX ustar, GNU and pax long names). Regular files
// alone: links and devices are passed over.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "harness/base/result.hpp"

namespace nb::doctor {

struct TarEvents {
  std::function<void(const std::string& name)> begin;
  std::function<void(std::string_view bytes)> feed;
  std::function<void()> end;
};

class TarStream {
 public:
  explicit TarStream(TarEvents events) : events_(std::move(events)) {}
  // Errors: a header that is damaged.
  Result<void> feed(std::string_view bytes);
  // The archive ended where one may end.
  Result<void> finish();

 private:
  Result<void> take_header();
  void end_member();
  enum class In { kHeader, kFile, kName, kPadding, kSkipped, kEnd } in_ = In::kHeader;
  TarEvents events_;
  std::string header_, long_name_;
  std::uint64_t left_ = 0, padding_ = 0;
};

bool looks_like_tar(std::string_view begin);  // of a file's first 512 bytes

}  // namespace nb::doctor
