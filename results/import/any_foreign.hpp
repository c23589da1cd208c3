// Everything that is not a run folder of ours, by its path.
#pragma once

#include <filesystem>

#include "results/import/formats.hpp"

namespace nb {

// "published:NAME" or "published:NAME/RUN" (results/published).
bool is_published_path(const std::filesystem::path& path);

// A published table; what read_foreign knows; where nothing of that is there, tables of reported
// results (results/audit/read_table.hpp): report cards, training logs, Markdown, CSV. Tables have
// no items: `look` sees none. Errors: of a file that a format recognises its own; else what neither
// knows.
Result<ForeignResults> read_any_foreign(const std::filesystem::path& path,
                                        ForeignBuilder::Look look = {});

}  // namespace nb
