// tests/golden/more_statistics.py: enumeration, exact fractions and numpy, no algorithm in common.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "harness/base/json_io.hpp"

namespace nb::test {

inline const Json& more_golden() {
  static const Json json =
      *read_json(std::string(NB_SOURCE_DIR) + "/tests/golden/more_statistics.json");
  return json;
}

}  // namespace nb::test
