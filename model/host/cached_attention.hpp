// Keys and values written into caches, and attention over what is in them.
#pragma once

#include "model/host/plan.hpp"

namespace nb::host {

Step append_keys_values(std::int32_t op);
// One sequence after the other, each over a copy of all its keys.
Step attention_by_sequence(std::int32_t op);
// All sequences at once, on the keys where they are, with what was appended just before.
bool match_cached_attention(Plan& plan, std::int32_t op);

}  // namespace nb::host
