// Whether a pass can be believed. Program and test share one interpreter, as in the references, so
// a program that wants to can leave its function and forge the result. Whoever could is run again
// with tests that no right answer passes; who passes one of them has forged the first. What this
// finds and what it cannot: README.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evals/sandbox/sandbox.hpp"
#include "harness/base/result.hpp"

namespace nb {

// Whether the code names anything by which a program leaves its function (underscored names,
// frames, sys, os, open, modules outside a list of harmless ones, …), or may bind an attribute of
// another object, or a name that the test reads. What does none of it can neither reach the runner
// or the test nor make objects that are equal to everything. Errs towards true.
bool may_forge(std::string_view code, std::string_view test, std::string_view entry_point);

// Variants of the test, each with one assertion that expects another value of its kind (some of
// them where there are many), and one that always fails. Not every right answer need fail every
// variant: an assertion may stand where it is never reached.
Result<std::vector<std::string>> twisted_tests(const sandbox::Ability& ability,
                                               std::string_view test);

}  // namespace nb
