// Where a loader of conversations stands, as a checkpoint keeps it.
#pragma once

#include <cstdint>
#include <string>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"

namespace nb {

struct LoaderPlace {
  std::string data;  // ConversationSet::sha256
  std::int64_t rank = 0, world = 0;
  std::int64_t taken = 0;  // tokens or rows since the start
};

Json to_json(const LoaderPlace& place);
// What `taken` was. bad_input: of other conversations, another rank or another number of ranks.
Result<std::int64_t> taken_of(const Json& json, const LoaderPlace& own);

}  // namespace nb
