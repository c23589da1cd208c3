#include "harness/microbench/request.hpp"

namespace nb {

FieldList MicrobenchRequest::fields() {
  return {
      {"group", "group of `npubench list microbenchmarks`", &group, {.required = true}},
      {"device", "emulated device", object(&device)},
      {"min_time_s", "of each host-clock benchmark", &min_time_s, {.unit = "s", .min = 0}},
      {"threads", "of the host; 0: every core", &threads, {.min = 0, .hashed = false}},
      {"pattern_off",
       "pattern that the host does without (model/host/README.md)",
       &pattern_off,
       {.hashed = false}},
  };
}

}  // namespace nb
