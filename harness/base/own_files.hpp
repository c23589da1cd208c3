// The files of this program: its own, and those that are installed with it.
#pragma once

#include <filesystem>

namespace nb {

// The file of this program. Of a portable folder (harness/portable.sh), where the kernel takes the
// loader for the program, what NPUBENCH_PROGRAM says, which that folder's launcher sets. Empty:
// nobody says.
std::filesystem::path own_program();

// What to start for another process of this program: the file that runs, though a build may have
// replaced it since; of a portable folder its launcher.
std::filesystem::path program_to_start();

// The folder with `suites` that belongs to this program: share/npubench beside its folder or in it,
// or the checkout that its build folder lies in. Empty: there is none.
std::filesystem::path shipped_folder();

// A file that comes with the program may be named from anywhere: `given` where that is there or
// absolute, else below shipped_folder() where it is there, else `given`.
std::filesystem::path shipped(const std::filesystem::path& given);

}  // namespace nb
