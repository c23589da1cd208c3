// What `npubench eval --write-out` prints.
#pragma once

#include <span>
#include <string>

#include "evals/show_prompts.hpp"
#include "harness/base/json_io.hpp"

namespace nb::cli {

std::string write_out_text(std::span<const ShownTask> tasks);
Json write_out_json(std::span<const ShownTask> tasks);

}  // namespace nb::cli
