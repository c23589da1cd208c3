// A folder tree that a program may be changing while we look at it or remove it. All goes by
// descriptors, one name at a time and never through a link: a name that is looked at twice may be
// something else the second time.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "evals/sandbox/landlock.hpp"

namespace nb::sandbox {

// The folder of that name, to be read: not what a link of that name leads to, nor what is mounted
// there. `parent` may be open as a place only (O_PATH).
Descriptor open_folder(int parent, const std::string& name);

// The same; but its owner is given `rights` (S_IRUSR, …) that it lacks.
// Closed where it is of another owner or file system than `parent`, too.
Descriptor open_sub_folder(int parent, const std::string& name, mode_t rights);

// The names in it but "." and "..", at most that many.
std::vector<std::string> names_in(int folder,
                                  std::size_t most = std::numeric_limits<std::size_t>::max());

// Removes everything in a folder, however deeply nested, but what is in sub-folders that
// open_sub_folder() refuses.
void empty_folder(int folder);

struct FolderUse {
  std::uint64_t bytes = 0;  // sizes of its files
  std::int64_t entries = 0;
  bool is_too_deep = false;
};
// Stops counting where there are more entries or levels than that.
FolderUse folder_use(int folder, std::int64_t most_entries, int most_levels);

// Files that a process holds open on the folder's file system but that have no name any more.
std::uint64_t nameless_bytes(pid_t process, int folder);

}  // namespace nb::sandbox
