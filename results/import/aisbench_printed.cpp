// AISBench's performance results as it prints them at the end of its log: the table of the requests
// and that of the whole load, below "Performance Results of task [model/dataset]".
// AISBench/benchmark
// @ 2a92ffd1: ais_bench/benchmark/summarizers/default_perf.py (_output_to_screen); as people paste
// them: AISBench/benchmark issue 218, vllm-project/vllm-ascend issue 2585 and pull request 17027.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "harness/base/ascii.hpp"
#include "results/audit/read_parts.hpp"
#include "results/import/aisbench_perf.hpp"
#include "results/import/late_tables.hpp"
#include "results/import/readers.hpp"
#include "results/messages/sentences.hpp"

namespace nb {

namespace fs = std::filesystem;

namespace aisbench {
namespace {

using Cells = std::vector<std::string>;

constexpr std::string_view kRequests[] = {"Performance Parameters", "Stage"};
constexpr std::string_view kLoad[] = {"Common Metric", "Stage", "Value"};
constexpr std::string_view kTitle = "Performance Results of task [";

Cells cells_of(std::string_view line) {
  for (const std::string_view bar : {std::string_view("│"), std::string_view("|")}) {
    Cells cells;
    const std::size_t first = line.find(bar);
    for (std::size_t at = first; at != line.npos;) {
      const std::size_t begin = at + bar.size();
      at = line.find(bar, begin);
      // Behind the last bar is nothing; where a paste lost it, the last cell.
      const std::string_view cell = trimmed(line.substr(begin, at - begin));
      if (at != line.npos || !cell.empty()) cells.emplace_back(cell);
    }
    if (cells.size() > 1) return cells;
  }
  return {};
}

template <std::size_t n>
bool begins_with(const Cells& cells, const std::string_view (&words)[n]) {
  return cells.size() >= n && std::equal(std::begin(words), std::end(words), cells.begin());
}

struct Request {
  std::string row, stage, column;
  Quantity quantity;
};

// What stands below one title.
struct Printed {
  std::string model, dataset;
  Stages load;
  std::vector<Request> requests;
  bool empty() const { return load.empty() && requests.empty(); }
};

class PrintedReader {
 public:
  PrintedReader(const fs::path& path, ForeignBuilder& builder) : path_(path), builder_(builder) {}

  void take(const Line& line) {
    if (const std::size_t at = line.text.find(kTitle); at != line.text.npos) {
      end();
      const std::string_view rest = line.text.substr(at + kTitle.size());
      const std::string task(rest.substr(0, rest.find(']')));
      const std::size_t slash = std::min(task.find('/'), task.size());
      printed_.model = task.substr(0, slash);
      printed_.dataset = task.substr(std::min(slash + 1, task.size()));
      return;
    }
    const Cells cells = cells_of(line.text);
    if (begins_with(cells, kRequests)) {
      if (!printed_.empty()) end();
      header_ = cells;
    } else if (begins_with(cells, kLoad)) {
      if (!printed_.load.empty()) end();
      header_ = cells;
    } else if (!header_.empty() && cells.size() == header_.size()) {
      take_row(cells, fmt::format("{}:{}", path_.string(), line.number));
    }
  }

  void end() {
    for (const auto& [stage, values] : printed_.load)
      add_load(run_of(stage), values, path_.string());
    for (const Request& one : printed_.requests)
      add_request(run_of(one.stage), one.row, one.column, one.quantity);
    printed_ = {};
    header_.clear();
  }

 private:
  void take_row(const Cells& cells, const std::string& where) {
    const bool is_load = begins_with(header_, kLoad);
    for (std::size_t column = 2; column < cells.size(); ++column) {
      // "N/A": a value that is missing.
      const auto quantity = quantity_of(cells[column] == "N/A" ? "" : cells[column], where);
      const std::string name = is_load ? cells[0] : fmt::format("{} {}", cells[0], header_[column]);
      if (!quantity)
        builder_.ignore(
            message("import.no_number", where, fmt::format("{}, {},", name, cells[column])));
      else if (*quantity && is_load)
        printed_.load[cells[1]][name] = **quantity;
      else if (*quantity)
        printed_.requests.push_back({cells[0], cells[1], header_[column], **quantity});
    }
  }

  ForeignRun& run_of(const std::string& stage) {
    return aisbench::run_of(path_, printed_.model, printed_.dataset, stage, printed_.load,
                            builder_);
  }

  fs::path path_;
  ForeignBuilder& builder_;
  Printed printed_;
  Cells header_;
};

std::span<const std::string_view> words_in(std::string_view text) {
  if (text.find(kRequests[0]) != text.npos) return kRequests;
  return kLoad;
}

bool holds_table(std::string_view text) {
  return std::ranges::any_of(lines_of(text), [](const Line& line) {
    const Cells cells = cells_of(line.text);
    return begins_with(cells, kRequests) || begins_with(cells, kLoad);
  });
}

// Its log begins with "[2026-06-01 10:19:48,085]", which late_tables takes for JSON.
std::string_view behind_time(std::string_view text) {
  const bool is_time = text.size() > 6 && text[0] == '[' && is_digit(text[1]) && text[5] == '-';
  return is_time ? text.substr(1) : text;
}

}  // namespace
}  // namespace aisbench

bool is_aisbench_printed(const FileHead& given) {
  FileHead head = given;
  head.bytes = aisbench::behind_time(head.bytes);
  return holds_late_table(head, aisbench::kRequests, aisbench::holds_table) ||
         holds_late_table(head, aisbench::kLoad, aisbench::holds_table);
}

Result<void> read_aisbench_printed(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const std::string whole, text_around_tables(path, aisbench::kRequests));
  NB_TRY(const std::string text, text_around_tables(path, aisbench::words_in(whole)));
  aisbench::PrintedReader reader(path, builder);
  for (const Line& line : lines_of(text)) reader.take(line);
  reader.end();
  return {};
}

}  // namespace nb
