// Whether the defects that a suite asks for change anything of what it runs.
#pragma once

#include <string>

#include "harness/base/result.hpp"
#include "harness/suite/suite.hpp"
#include "model/train/port_defects.hpp"

namespace nb {

// Whether its tasks are scored, answered by texts, or both.
DefectScope scope_of(const EvaluationSettings& evaluation);

// Of a suite whose stages and evaluations are checked. bad_input: an unknown defect, one that
// changes nothing here, a batch without a half.
Result<void> check_defects(const Suite& suite, const std::string& where);

}  // namespace nb
