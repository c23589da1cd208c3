// What a killed npubench could leave of its sandboxes.
#pragma once

namespace nb::sandbox {

// Kills the waiting process of a bwrap that was killed while it set up its namespaces, and removes
// folders that nobody uses any more. Processes and folders in use are left alone, those of other
// users too.
void end_leftovers();

}  // namespace nb::sandbox
