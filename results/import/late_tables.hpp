// Tables that a program prints into its log, wherever they stand in it: a log of an evaluation may
// have hundreds of megabytes before them.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "harness/base/result.hpp"
#include "results/import/formats.hpp"

namespace nb {

// The file's first 64 KiB and what stands around the lines in which all of `words` occur; the other
// lines are blank, so that the numbers of lines hold. The first word is the one that is searched
// for: a rare one.
Result<std::string> text_around_tables(const std::filesystem::path& path,
                                       std::span<const std::string_view> words);

// For recognisers of printed tables: a text that is no JSON, in whose beginning `holds` finds the
// table, or around its lines with the words.
bool holds_late_table(const FileHead& head, std::span<const std::string_view> words,
                      bool (*holds)(std::string_view text));

}  // namespace nb
