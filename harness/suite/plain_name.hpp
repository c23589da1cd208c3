// Names that end in folder and node names.
#pragma once

#include <string>

namespace nb {

// At most 80 letters, digits, _ . - that begin with a letter or digit.
bool is_plain_name(const std::string& name);
std::string not_a_name(const std::string& name);  // the sentence for one that is none

}  // namespace nb
