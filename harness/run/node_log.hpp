// log.txt of a node: one line an event with its UTC time, appended, kept over resumes. Losing lines
// on a full disk is better than losing the node, so writing never fails.
#pragma once

#include <filesystem>
#include <string>

namespace nb {

class NodeLog {
 public:
  explicit NodeLog(const std::filesystem::path& node_folder);
  void line(const std::string& text);

 private:
  std::filesystem::path path_;
};

}  // namespace nb
