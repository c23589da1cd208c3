// The languages that sentences are written in. Names (metrics, tasks, devices, files), numbers,
// units and commands are the same in all of them.
#pragma once

#include <string>
#include <string_view>

#include "harness/base/result.hpp"

namespace nb {

enum class Language { kEn, kZh };
Result<Language> parse_language(const std::string& text);  // "en", "zh"
std::string_view name(Language language);                  // "en", "zh": also HTML's lang

}  // namespace nb
