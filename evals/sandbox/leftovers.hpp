// What an npubench of the past could leave of its sandboxes: nothing, unless its guard was killed.
#pragma once

namespace nb::sandbox {

// Ends sandboxed processes that no guard has, waits for their end, then removes the folders that
// nobody uses. Processes and folders in use are left alone, those of other users too.
void end_leftovers();

}  // namespace nb::sandbox
