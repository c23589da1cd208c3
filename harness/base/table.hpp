// Text tables for terminals and Markdown: columns aligned by display width, numbers to the right.
#pragma once

#include <string>
#include <vector>

namespace nb {

struct TextTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // shorter rows are filled with empty cells
};

std::string to_text(const TextTable& table);
std::string to_markdown(const TextTable& table);

// "1.23 s", "45.6 µs"; "1.2 GiB"; "3,491,758,080"; "12.3 k": for people, not for files.
std::string human_time_ns(double time_ns);
std::string human_bytes(double size_bytes);
std::string human_rate(double rate, const std::string& unit);
std::string with_commas(long long value);
// Shortest text that reads back as the same double.
std::string number_text(double value);

}  // namespace nb
