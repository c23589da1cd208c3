#include "harness/faults/fault_settings.hpp"

namespace nb {

FieldList ExpectedFailure::fields() {
  return {{"failure", "code that a rank reports, or none", &failure, {.omits_absent = true}},
          {"first_rank", "who failed first", &first_rank, {.min = 0, .omits_absent = true}},
          {"after_s",
           "when that code comes after the fault, simulated",
           &after_s,
           {.unit = "s", .min = 0, .omits_absent = true}}};
}

FieldList FaultSettings::fields() {
  return {{"faults",
           "planted in the ranks that train together: kind:key=value,… (npubench list faults)",
           &faults,
           {.omits_absent = true}},
          {"environment",
           "variables of HCCL that say how long ranks wait: name → value",
           &environment,
           {.omits_absent = true}},
          {"launcher",
           "who started the ranks: torchrun ends the others when one fails; absent: none",
           &launcher,
           {.one_of = {"none", "torchrun"}, .omits_absent = true}},
          {"process_group_timeout",
           "of init_process_group; absent: its default",
           &process_group_timeout_s,
           {.unit = "s", .min = 1, .omits_absent = true}},
          {"expect",
           "how the fault must end: then the exit code is 0, else 1",
           object(&expect),
           {.hashed = false, .omits_absent = true}},
          {"tensor_digests",
           "keep a digest of every tensor of each rank and step, for compare tensors",
           &tensor_digests,
           {.omits_absent = true}}};
}

}  // namespace nb
