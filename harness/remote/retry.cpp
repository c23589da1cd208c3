#include "harness/remote/retry.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <string>

namespace nb {
namespace {

constexpr double kLongestAsked = 60, kFirstWait = 0.5, kLongestWait = 30;
constexpr int kFirstLimit = 4, kSuccessesForOneMore = 32;

}  // namespace

bool may_pass(int status) {
  return status == 408 || status == 409 || status == 425 || status == 429 ||
         (status >= 500 && status != 501);
}

std::optional<double> retry_after_seconds(std::string_view header, double now) {
  double seconds = 0;
  const char* end = header.data() + header.size();
  const auto [at, error] = std::from_chars(header.data(), end, seconds);
  if (error == std::errc() && at == end && std::isfinite(seconds) && seconds >= 0) return seconds;
  std::tm date{};
  const std::string text(header);
  const char* rest = ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date);
  if (rest == nullptr || *rest != '\0') return std::nullopt;
  return std::max(0.0, static_cast<double>(::timegm(&date)) - now);
}

double wait_seconds(int failed, std::optional<double> asked, double jitter) {
  if (asked) return std::min(*asked, kLongestAsked);
  const double doubled = kFirstWait * std::exp2(std::clamp(failed, 1, 32) - 1);
  return std::min(doubled, kLongestWait) * std::clamp(jitter, 0.5, 1.0);
}

InFlightLimit::InFlightLimit(int most) : most_(most), limit_(std::min(most, kFirstLimit)) {}

void InFlightLimit::succeeded() {
  if (++successes_ < kSuccessesForOneMore) return;
  successes_ = 0;
  limit_ = std::min(most_, limit_ + 1);
}

void InFlightLimit::overloaded() {
  successes_ = 0;
  limit_ = std::max(1, limit_ / 2);
}

}  // namespace nb
