// What a file is that no reader knows, so that the user is told what to give instead: a profile,
// npu-smi's output, a log that ends in an error, an image, weights. Nothing is read as results
// here.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace nb {

// "output of npu-smi: the state of devices, no results; …": what it is, and what to do. Of a folder
// the first of its files of which something is known, by its name. Nothing: unknown, or no file.
std::optional<std::string> looks_like(const std::filesystem::path& path);

}  // namespace nb
