// TensorBoard's event files: records of length, masked CRC, event, masked CRC; scalars alone.
// Source: tensorflow/tensorboard @ 00bd827c4: tensorboard/compat/proto/event.proto, summary.proto,
// tensor.proto; tensorboard/compat/tensorflow_stub/pywrap_tensorflow.py (PyRecordReader_New,
// masked_crc32c).
#include <fmt/core.h>

#include <array>
#include <bit>
#include <cstring>

#include "results/messages/sentences.hpp"
#include "results/training/columns.hpp"
#include "results/training/curve_builder.hpp"
#include "results/training/training_log.hpp"

namespace nb {
namespace {

constexpr std::uint32_t kMask = 0xa282ead8;
constexpr std::size_t kHead = 12, kTail = 4;  // bytes around an event

// CRC-32C (Castagnoli), reflected polynomial 0x82f63b78, RFC 3720.
constexpr auto kTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
    table[i] = crc;
  }
  return table;
}();

std::uint32_t masked_crc(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : bytes)
    crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + kMask;
}

template <class Number>
Number little_endian(std::string_view bytes) {
  Number value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// One field of a protobuf message.
struct Field {
  std::uint32_t number = 0, wire = 0;
  std::uint64_t varint = 0;  // wire 0
  std::string_view bytes;    // wire 1 (8 bytes), 2, 5 (4 bytes)
};

bool take_varint(std::string_view& text, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !text.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(text.front());
    text.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

bool take_field(std::string_view& text, Field& field) {
  std::uint64_t key = 0, length = 0;
  if (!take_varint(text, key)) return false;
  field.number = static_cast<std::uint32_t>(key >> 3);
  field.wire = static_cast<std::uint32_t>(key & 7);
  switch (field.wire) {
    case 0:
      return take_varint(text, field.varint);
    case 1:
      length = 8;
      break;
    case 2:
      if (!take_varint(text, length)) return false;
      break;
    case 5:
      length = 4;
      break;
    default:
      return false;
  }
  if (length > text.size()) return false;
  field.bytes = text.substr(0, static_cast<std::size_t>(length));
  text.remove_prefix(static_cast<std::size_t>(length));
  return true;
}

// TensorProto: the one number of a scalar. dtype 1 float, 2 double, 3 int32, 9 int64.
std::optional<double> scalar_of(std::string_view tensor) {
  std::uint64_t type = 0;
  std::string_view content;
  std::optional<double> value;
  for (Field field; !tensor.empty();) {
    if (!take_field(tensor, field)) return std::nullopt;
    if (field.number == 1 && field.wire == 0) type = field.varint;
    if (field.number == 4 && field.wire == 2) content = field.bytes;
    if (field.number == 5 && field.bytes.size() == 4) value = little_endian<float>(field.bytes);
    if (field.number == 6 && field.bytes.size() == 8) value = little_endian<double>(field.bytes);
    if ((field.number == 7 || field.number == 10) && field.wire == 0)
      value = static_cast<double>(static_cast<std::int64_t>(field.varint));
  }
  if (value) return value;
  if (type == 1 && content.size() == 4) return little_endian<float>(content);
  if (type == 2 && content.size() == 8) return little_endian<double>(content);
  if (type == 3 && content.size() == 4) return little_endian<std::int32_t>(content);
  if (type == 9 && content.size() == 8)
    return static_cast<double>(little_endian<std::int64_t>(content));
  return std::nullopt;
}

struct EventFileReading {
  CurveBuilder curve;
  std::map<std::string, std::size_t, std::less<>> columns;  // tag → column
  std::map<std::string, double, std::less<>> factors;
  std::size_t others = 0;  // values that are no scalars

  // Summary.Value. False: no such message.
  bool value(std::int64_t step, std::string_view text) {
    std::string_view tag;
    std::optional<double> number;
    for (Field field; !text.empty();) {
      if (!take_field(text, field)) return false;
      if (field.number == 1 && field.wire == 2) tag = field.bytes;
      if (field.number == 2 && field.bytes.size() == 4) number = little_endian<float>(field.bytes);
      if (field.number == 8 && field.wire == 2) number = scalar_of(field.bytes);
    }
    if (!number || tag.empty()) {
      ++others;
      return true;
    }
    if (is_step_name(tag)) return true;
    auto at = columns.find(tag);
    if (at == columns.end()) {
      const SourceColumn column = source_column(tag);
      at = columns.emplace(tag, curve.column(column.name)).first;
      factors.emplace(tag, column.factor);
    }
    curve.put(step, at->second, *number * factors.find(tag)->second);
    return true;
  }
  bool event(std::string_view text) {
    std::int64_t step = 0;
    std::string_view summary;
    for (Field field; !text.empty();) {
      if (!take_field(text, field)) return false;
      if (field.number == 2 && field.wire == 0) step = static_cast<std::int64_t>(field.varint);
      if (field.number == 5 && field.wire == 2) summary = field.bytes;
    }
    if (step < 0) return false;
    for (Field field; !summary.empty();) {
      if (!take_field(summary, field)) return false;
      if (field.number == 1 && field.wire == 2 && !value(step, field.bytes)) return false;
    }
    return true;
  }
};

bool head_is_whole(std::string_view head) {
  return masked_crc(head.substr(0, 8)) == little_endian<std::uint32_t>(head.substr(8));
}

}  // namespace

bool is_event_file(std::string_view part, bool is_first) {
  return is_first && part.size() > kHead + kTail && head_is_whole(part.substr(0, kHead)) &&
         part.substr(0, 64).find("brain.Event:") != part.npos;
}

Result<TrainingLog> read_event_file(const LogText& log) {
  static_assert(std::endian::native == std::endian::little);
  EventFileReading reading;
  TrainingLog result;
  std::string_view rest = log.bytes;
  std::size_t events = 0;
  while (!rest.empty()) {
    const auto damaged = [&](const char* what) {
      return bad_input(fmt::format("{}: byte {}: event {} {}; is the file damaged?", log.where,
                                   log.bytes.size() - rest.size(), events + 1, what));
    };
    if (rest.size() >= kHead && !head_is_whole(rest.substr(0, kHead)))
      return damaged("has a length whose checksum is wrong");
    const auto length = rest.size() < kHead ? 0 : little_endian<std::uint64_t>(rest.substr(0, 8));
    if (rest.size() < kHead + kTail || length > rest.size() - kHead - kTail) {
      // Written to while it was copied: what is there counts.
      result.ignored.push_back(message("log.last_event", rest.size()));
      break;
    }
    const std::string_view event = rest.substr(kHead, static_cast<std::size_t>(length));
    const auto crc = little_endian<std::uint32_t>(rest.substr(kHead + event.size(), kTail));
    if (masked_crc(event) != crc) return damaged("does not match its checksum");
    if (!reading.event(event)) return damaged("is no event");
    rest.remove_prefix(kHead + event.size() + kTail);
    ++events;
    if (log.file != nullptr) log.file->passed(rest.data());
  }
  if (reading.others > 0) result.ignored.push_back(message("log.no_scalars", reading.others));
  if (reading.curve.empty()) return bad_input(log.where + ": an event file without scalars");
  result.trainings.emplace_back().curve = reading.curve.finish();
  return result;
}

}  // namespace nb
