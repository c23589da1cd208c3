#include "harness/run/stages.hpp"

namespace nb {

Result<void> run_eval(const EvalWork&, const StageContext&, Record&) {
  return run_error("evaluations are not joined yet");
}

}  // namespace nb
