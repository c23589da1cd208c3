// Keys and values written into caches, and attention over what is in them.
#pragma once

#include "model/host/plan.hpp"

namespace nb::host {

void append_keys_values(const Op& op, const KvCacheAppend& operands);
// One sequence after the other, each over a copy of all its keys.
void attend_by_sequence(Plan& plan, const Op& op, const CachedAttention& operands);
// All sequences at once, on the keys where they are, with what was appended just before.
bool match_cached_attention(Plan& plan, std::int32_t op);

}  // namespace nb::host
