// Evaluations of a model that is a server (harness/remote), in its own words: `environment/server`.
#pragma once

#include <string>

#include "results/store/record.hpp"

namespace nb {

bool is_served(const Record& record);
// What its probes found; an empty object: no server answered.
const Json& server_of(const Record& record);
// "vllm 0.9.1", as the server says; empty: it does not.
std::string engine_of(const Record& record);
// "vllm 0.9.1 at gpu:8000", and how the evaluation was called: ", called gpu".
std::string server_text(const Record& record);
// Both were answered by servers, of another address, engine or device.
bool have_two_servers(const Record& a, const Record& b);

}  // namespace nb
