#include "harness/run/node_log.hpp"

#include "harness/base/fs.hpp"
#include "harness/base/host_info.hpp"

namespace nb {

NodeLog::NodeLog(const fs::path& node_folder) : path_(node_folder / "log.txt") {}

void NodeLog::line(const std::string& text) {
  const Result<void> written = append_file(path_, utc_time_text() + "  " + text + "\n");
  (void)written;  // see the header
}

}  // namespace nb
