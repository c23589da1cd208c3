// What doctor has to say: one value a check, and its sentence as a key of the tables with what
// fills its places. It becomes text where somebody reads it, in the reader's language.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/language.hpp"
#include "harness/doctor/tables.hpp"

namespace nb::doctor {

// {v} in a sentence of the tables takes the argument named "v"; one that is not given stays as it
// is.
using Arguments = std::vector<std::pair<std::string, std::string>>;

struct Said {
  std::string key;  // of sentence_rows()
  Arguments arguments;
};
std::string sentence_of(const Said& said, Language language = Language::kEn);
std::string remedy_of(const Said& said, Language language = Language::kEn);

struct Place {
  std::string file;  // empty: this machine, or the command line
  int line = 0;      // from 1; 0: the whole
};

struct Check {
  std::string id;     // "ENV160": what --explain takes
  std::string group;  // "environment", "versions", "machine", "cards", "rank table", "plan"
  State state = State::kPass;
  std::string variable;         // what was looked at: HCCL_IF_IP, torch_npu
  std::string value, expected;  // as found, as wanted; empty: nothing to show
  Said said;
  Place where;
  std::string source;
};
// Sorted as they are printed: worst first, then by file, line and id.
void sort_checks(std::vector<Check>& checks);
Json json_of(const Check& check, Language language);
// What json_of wrote; nothing: it is none.
std::optional<Check> check_from(const Json& json);

}  // namespace nb::doctor
