// Suite files: parse (comments allowed), change single values (--set), check what the field list
// cannot.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "harness/base/json_io.hpp"
#include "harness/suite/suite.hpp"

namespace nb {

// One `--set /pointer=value`. The value is JSON where it parses as JSON, else a text.
struct Override {
  std::string pointer;  // "/stages/base/depth"
  std::string value;
};
Result<Override> parse_override(const std::string& text);

// The suite's JSON after the changes, in their order; short forms of devices are opened.
Result<Json> with_overrides(Json json, std::span<const Override> overrides,
                            const std::string& where);

// `where` opens every message: "suites/a.json: /devices/0: no profile …". The error names the
// place, what is wrong and the nearest valid value. A suite that would run nothing is an error.
Result<Suite> parse_suite(Json json, const std::string& where);
Result<Suite> load_suite(const std::filesystem::path& path,
                         std::span<const Override> overrides = {});

// Every key of a suite with its meaning, unit, range and default.
std::string suite_help();

}  // namespace nb
