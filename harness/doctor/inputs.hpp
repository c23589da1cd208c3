// Files, folders, standard input and archives of them (tar, gzip, zip) → texts to be recognised,
// and what their logs say. Large files are read as a stream: memory does not grow with them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "harness/doctor/examine.hpp"
#include "harness/doctor/log_scan.hpp"

namespace nb::doctor {

struct Inputs {
  std::vector<Captured> texts;       // small ones, as UTF-8 where they were UTF-16
  std::vector<Recognized> streamed;  // what was too large to be kept, by its beginning
  LogReading log;
  std::vector<Error> errors;  // one sentence each; the others are read all the same
};

// "-": standard input. progress: called with the bytes read so far and their name.
Inputs read_inputs(
    const std::vector<std::string>& paths,
    const std::function<void(const std::string& name, std::uint64_t bytes)>& progress = {});
Findings examine(const Inputs& inputs, const Facts& given);

// The same of one text that is in memory.
Inputs read_text_input(const std::string& name, std::string_view bytes);

// UTF-16 as UTF-8; other texts as they are.
std::string decoded_text(std::string bytes);

}  // namespace nb::doctor
