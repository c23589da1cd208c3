// The 57 subjects of MMLU (Hendrycks et al. 2021), as its files spell them.
#pragma once

#include <string_view>
#include <vector>

namespace nb {

std::vector<std::string_view> mmlu_subjects();  // in alphabetical order

}  // namespace nb
