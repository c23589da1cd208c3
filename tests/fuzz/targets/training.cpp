// results/training: logs of trainers, one target a format of training_formats().
#include <algorithm>
#include <cstring>

#include "harness/base/check.hpp"
#include "results/audit/read_table.hpp"
#include "results/audit/to_foreign.hpp"
#include "results/import/to_records.hpp"
#include "results/store/curve_columns.hpp"
#include "results/training/training_log.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/results/training/sample_logs.hpp"

namespace nb::test {
namespace {

// CRC-32C, bit by bit, masked as TensorBoard's records have it.
std::uint32_t masked_crc(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

void put(std::string& bytes, std::size_t at, std::uint32_t crc) {
  std::memcpy(bytes.data() + at, &crc, sizeof crc);
}

// The checksums of the records: 8 bytes length, its checksum, the event, its checksum.
std::string with_checksums(std::string bytes) {
  constexpr std::size_t kHead = 12, kTail = 4;
  for (std::size_t at = 0; bytes.size() - at >= kHead + kTail;) {
    const std::string_view text(bytes);
    put(bytes, at + 8, masked_crc(text.substr(at, 8)));
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    if (length > bytes.size() - at - kHead - kTail) break;
    const auto size = static_cast<std::size_t>(length);
    put(bytes, at + kHead + size, masked_crc(text.substr(at + kHead, size)));
    at += kHead + size + kTail;
  }
  return bytes;
}

Result<void> read_log(const TrainingFormat& format, std::string_view bytes, const char* file) {
  NB_TRY(const TrainingLog log, format.read({bytes, file}));
  for (const Training& training : log.trainings) {
    NB_CHECK(std::ranges::is_sorted(training.curve.steps, std::less_equal<>()),
             "[training] steps do not rise");
    NB_TRY(const std::string text, curve_csv(training.curve, "curve"));
  }
  NB_TRY(const ReportedTable table, parse_training_log({bytes, file}));
  records_of(foreign_of(table));
  return {};
}

std::string target_name(const TrainingFormat& format) {
  std::string name = "training.";
  for (const char c : std::string_view(format.name)) {
    if (c == '(') break;
    name += std::isalnum(static_cast<unsigned char>(c)) != 0
                ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
                : '_';
  }
  while (name.ends_with('_')) name.pop_back();
  return name;
}

}  // namespace

void add_training_targets(FuzzTargets& targets) {
  for (const TrainingFormat& format : training_formats()) {
    FuzzTarget target;
    target.name = target_name(format);
    if (std::string_view(format.name) == "TensorBoard chart (CSV)") target.name += "_csv";
    target.reads = format.name;
    const char* file = "events.out.tfevents.1.h";
    std::vector<std::string> seeds;
    for (const SampleLog& log : kSampleLogs)
      if (log.format == std::string_view(format.name)) {
        file = log.file;
        seeds.emplace_back(log.text);
      }
    if (seeds.empty()) {
      seeds.push_back(event_bytes());
      target.seal = "CRC-32C of lengths and events computed anew";
      target.fuzz_one = [&format, file](std::string_view bytes) {
        return read_log(format, with_checksums(std::string(bytes)), file);
      };
    } else {
      target.fuzz_one = [&format, file](std::string_view bytes) {
        return read_log(format, bytes, file);
      };
    }
    target.seeds = [seeds] { return seeds; };
    targets.push_back(std::move(target));
  }
}

}  // namespace nb::test
