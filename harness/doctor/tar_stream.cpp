#include "harness/doctor/tar_stream.hpp"

#include <algorithm>
#include <charconv>

namespace nb::doctor {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::uint64_t kLongestName = 4096;

std::string text_at(std::string_view header, std::size_t at, std::size_t size) {
  const std::string_view field = header.substr(at, size);
  return std::string(field.substr(0, field.find('\0')));
}

// Octal digits, as tar writes numbers.
bool octal(std::string_view header, std::size_t at, std::size_t size, std::uint64_t& value) {
  std::string_view field = header.substr(at, size);
  while (!field.empty() && (field.front() == ' ' || field.front() == '0')) field.remove_prefix(1);
  const std::size_t end = std::min(field.find_first_not_of("01234567"), field.size());
  value = 0;
  if (end == 0) return field.empty() || field[0] == ' ' || field[0] == '\0';
  return std::from_chars(field.data(), field.data() + end, value, 8).ec == std::errc();
}

bool has_sound_sum(std::string_view header) {
  std::uint64_t stated = 0, sum = 0;
  if (!octal(header, 148, 8, stated)) return false;
  for (std::size_t i = 0; i < kBlock; ++i)
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(header[i]);
  return sum == stated;
}

}  // namespace

bool looks_like_tar(std::string_view begin) {
  return begin.size() >= kBlock && begin.substr(257, 5) == "ustar" &&
         has_sound_sum(begin.substr(0, kBlock));
}

void TarStream::end_member() {
  if (in_ == In::kFile) events_.end();
  in_ = padding_ > 0 ? In::kPadding : In::kHeader;
}

Result<void> TarStream::take_header() {
  if (std::all_of(header_.begin(), header_.end(), [](char c) { return c == '\0'; })) {
    in_ = In::kEnd;
    return {};
  }
  std::uint64_t size = 0;
  if (!has_sound_sum(header_) || !octal(header_, 124, 12, size))
    return bad_input("the tar archive is damaged");
  padding_ = (kBlock - size % kBlock) % kBlock;
  left_ = size;
  const char type = header_[156];
  std::string name = text_at(header_, 345, 155);
  name += (name.empty() ? "" : "/") + text_at(header_, 0, 100);
  if (type == 'L' || type == 'x') {
    if (size > kLongestName) return bad_input("the tar archive has a name of absurd length");
    long_name_.clear();
    in_ = In::kName;
    if (type == 'x') in_ = In::kSkipped;  // pax: the short name serves
  } else if (type == '0' || type == '\0') {
    in_ = In::kFile;
    events_.begin(long_name_.empty() ? name : std::string(long_name_.c_str()));
    long_name_.clear();
  } else {
    in_ = In::kSkipped;
  }
  if (left_ == 0) end_member();
  return {};
}

Result<void> TarStream::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (in_ == In::kEnd) return {};
    if (in_ == In::kHeader) {
      const std::size_t count = std::min(kBlock - header_.size(), bytes.size());
      header_.append(bytes.substr(0, count));
      bytes.remove_prefix(count);
      if (header_.size() == kBlock) {
        NB_TRY_VOID(take_header());
        header_.clear();
      }
      continue;
    }
    std::uint64_t& left = in_ == In::kPadding ? padding_ : left_;
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left, bytes.size()));
    if (in_ == In::kFile) events_.feed(bytes.substr(0, count));
    if (in_ == In::kName) long_name_.append(bytes.substr(0, count));
    bytes.remove_prefix(count);
    left -= count;
    if (left > 0) continue;
    if (in_ == In::kPadding)
      in_ = In::kHeader;
    else
      end_member();
  }
  return {};
}

Result<void> TarStream::finish() {
  const bool is_cut = in_ == In::kFile || in_ == In::kName || !header_.empty();
  if (in_ == In::kFile) events_.end();
  if (is_cut) return bad_input("the tar archive is cut off");
  return {};
}

}  // namespace nb::doctor
