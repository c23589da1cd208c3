// When a request is sent again, and how many may be under way. Pure: no clock, no connection.
#pragma once

#include <optional>
#include <string_view>

namespace nb {

// 408, 409, 425, 429 and 5xx but 501: the server may answer later. Others are its last word.
bool may_pass(int status);
// Of the header Retry-After, seconds or an HTTP date; now: seconds since 1970. Nothing: neither.
std::optional<double> retry_after_seconds(std::string_view header, double now);
// Before try `failed` + 1 (failed >= 1): what the server asked for, at most a minute; else 0.5 s,
// doubled each time, at most 30 s, times a jitter in [0.5, 1).
double wait_seconds(int failed, std::optional<double> asked, double jitter);

// How many requests may be under way: as TCP finds what a path takes. Starts at 4; 32 successes
// without trouble allow one more; an answer "too many", or none in time, halves it.
class InFlightLimit {
 public:
  explicit InFlightLimit(int most);
  int limit() const { return limit_; }
  void succeeded();
  void overloaded();

 private:
  int most_, limit_;
  int successes_ = 0;
};

}  // namespace nb
