// Values in a row of bytes, for processes of one build on machines of one kind: numbers as they lie
// in memory, texts and arrays behind their length. Whoever reads asks for what was written, in that
// order.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "harness/base/check.hpp"

namespace nb {

class MessageWriter {
 public:
  template <class T>
  MessageWriter& put(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    return put_bytes(&value, sizeof value);
  }
  MessageWriter& put_text(std::string_view text) {
    put(static_cast<std::uint64_t>(text.size()));
    return put_bytes(text.data(), text.size());
  }
  MessageWriter& put_floats(std::span<const float> values) {
    put(static_cast<std::uint64_t>(values.size()));
    return put_bytes(values.data(), values.size_bytes());
  }
  // Room for so many bytes more.
  MessageWriter& reserve(std::size_t bytes) {
    bytes_.reserve(bytes_.size() + bytes);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  MessageWriter& put_bytes(const void* from, std::size_t size) {
    if (size > 0) bytes_.append(static_cast<const char*>(from), size);
    return *this;
  }
  std::string bytes_;
};

class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  T get() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view get_text() { return take(get<std::uint64_t>()); }
  // Of the floats that come next.
  std::size_t next_count() const { return MessageReader(rest_).get<std::uint64_t>(); }
  // As many as were written, into `out`, which has that size.
  void get_floats(std::span<float> out) {
    const auto count = get<std::uint64_t>();
    NB_CHECK(count == out.size(), "[message] {} values for {}", count, out.size());
    if (count > 0) std::memcpy(out.data(), take(out.size_bytes()).data(), out.size_bytes());
  }
  bool is_at_end() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view take(std::uint64_t size) {
    NB_CHECK(size <= rest_.size(), "[message] {} bytes of {}", size, rest_.size());
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view rest_;
};

}  // namespace nb
