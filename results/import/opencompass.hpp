// What the readers of open-compass/opencompass and AISBench share.
#pragma once

#include <filesystem>
#include <string>

namespace nb {

inline constexpr const char* kOpenCompass = "opencompass";

// "20251016_235030" in the path's folders, else in the file's name: one start of the program, what
// lies in it belongs together. Empty: there is none.
std::string opencompass_stamp(const std::filesystem::path& path);

}  // namespace nb
