// What `npubench nightly` writes beside the runs of a night, and a log (*.log) of each step. Here,
// because `runs gc` removes a night's folder as a whole only where nothing else is in it.
#pragma once

namespace nb {

inline constexpr const char* kNightJson = "gate.json";
inline constexpr const char* kNightJunit = "gate.xml";
inline constexpr const char* kNightSummary = "summary.txt";
inline constexpr const char* kNightReport = "report";  // folder, with report.html

}  // namespace nb
