// Text tables for terminals and Markdown: columns aligned by display width, numbers to the right.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace nb {

struct TextTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // shorter rows are filled with empty cells
};

// max_width: columns; wide cells of text are broken into several lines so that rows fit, the
// first column last. 0: as wide as the cells are. Columns of numbers are never broken.
std::string to_text(const TextTable& table, std::size_t max_width = 0);
std::string to_markdown(const TextTable& table);

// "1.23 s", "45.6 µs"; "1.2 GiB"; "3,491,758,080"; "12.3 k": for people, not for files.
std::string human_time_ns(double time_ns);
std::string human_bytes(double size_bytes);
std::string human_rate(double rate, const std::string& unit);
std::string with_commas(long long value);
// "1 record", "1,204 records"; `many` where adding an s is wrong ("micro-batches").
std::string count_text(long long count, const std::string& one, const std::string& many = "");
// Shortest text that reads back as the same double.
std::string number_text(double value);

}  // namespace nb
