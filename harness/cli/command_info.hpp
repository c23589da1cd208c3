// What a verb declared, for completions and the man page.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace nb::cli {

struct OptionInfo {
  std::string name;   // "--device"; "RUN" of a positional one
  std::string value;  // "TEXT", "INT"; empty: a flag
  std::string doc;
  std::vector<std::string> choices;  // the only values there are; empty: others
  bool is_positional = false;
  bool is_required = false;
};
struct CommandInfo {
  std::string name;
  std::string doc;
  std::string footer;
  std::vector<OptionInfo> options;
  std::vector<CommandInfo> commands;
};

CommandInfo info_of(const ::CLI::App& app);

}  // namespace nb::cli
