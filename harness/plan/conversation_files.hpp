// The files that a mixture of conversations reads: from the data folder, or the user's own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "harness/plan/text_sources.hpp"
#include "harness/suite/mixture.hpp"

namespace nb {

// In the order of the mixture, each once. Generated tasks of the microworld read none. Files of the
// manifest are not opened (they may be missing: check_text_files). bad_input: an own file that is
// not there.
Result<std::vector<TextFile>> find_conversation_files(const Mixture& mixture,
                                                      const std::filesystem::path& data_dir,
                                                      const std::string& where);
// Of one task; nothing for those of the microworld.
Result<std::vector<TextFile>> find_conversation_files(const MixtureTask& task,
                                                      const std::filesystem::path& data_dir,
                                                      const std::string& where);

}  // namespace nb
