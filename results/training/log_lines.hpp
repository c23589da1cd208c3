// Lines of a log, and numbers in them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/training/training_log.hpp"

namespace nb {

// Without line ends, colour codes left in; a progress bar's states are lines. number: from 1.
void for_each_log_line(const LogText& log,
                       const std::function<void(std::string_view line, std::size_t number)>& each);

// The number that begins the text after blanks, up to a blank, a bar, a bracket or the end, with a
// unit or without: "1,139,500 | …", "9.150E-06", "460.10ms", "nan". Nothing for "1,07x,308".
std::optional<double> leading_number(std::string_view text);
std::optional<std::int64_t> leading_integer(std::string_view text);  // digits alone
// The number after the first `key`.
std::optional<double> number_after(std::string_view line, std::string_view key);
// The same, but what stands there and is no number is an error, of which the first stays.
std::optional<double> number_after(std::string_view line, std::string_view key,
                                   const std::string& where, std::size_t line_number,
                                   std::optional<Error>& error);

// The cells of a line of CSV; quotes are taken off.
std::vector<std::string> csv_cells(std::string_view line);

// The numbers among the members of a flat JSON object, by key; other members are passed over. A
// bare NaN or Infinity, and the texts of them, are such numbers. False: no such object.
bool for_each_json_number(std::string_view object,
                          const std::function<void(std::string_view key, double value)>& each);

// For recognisers: any line of the part.
bool any_line(std::string_view part, bool (*wants)(std::string_view line));

}  // namespace nb
