// What a record says about the computer and the program that made it. Never part of a metric or a
// key.
#pragma once

#include <string>

#include "harness/base/json_io.hpp"
#include "harness/plan/work.hpp"

namespace nb {

// Host, SIMD levels, OpenBLAS, threads, program and code digests of the kind. The runner adds
// "started_at" and "finished_at".
Json environment_of(NodeKind kind);

std::string program_version();  // "npubench 0.1.0"

}  // namespace nb
