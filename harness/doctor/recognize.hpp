// What a text is, by what stands in it: never by a file's name. A text may hold several things one
// after another, as people paste them into an issue. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nb::doctor {

enum class Kind {
  kEnvironment,  // NAME=value per line, or a JSON map of them
  kScript,       // shell, Python, Dockerfile, YAML, a guide in Markdown
  kPackages,     // pip list, pip freeze, conda list
  kSmiInfo,      // npu-smi info
  kSmiTopology,  // npu-smi info -t topo
  kCardDetails,  // npu-smi info -t ecc, -t board; hccn_tool
  kVersions,     // version.info, ascend_toolkit_install.info, reports of collect_env
  kRankTable,
  kPci,     // lspci, lspci -n, lspci -nn
  kClocks,  // chronyc tracking, timedatectl, iptables -S
  kReport,  // what doctor --json printed, of a bundle
  kRecord,  // record.json of a run, captured or emulated
  kLog,
  kUnknown,
};
std::string_view name(Kind kind);  // "environment", "script", …

struct Section {
  Kind kind = Kind::kUnknown;
  std::string text;
  int first_line = 1;
  bool is_whole_environment = false;  // PATH, HOME or PWD is among it
};
// Of a text in Markdown the fenced blocks that a program printed, not those that are to be typed;
// all other lines blank, so that lines keep their numbers. Of a program whose log stands behind it
// the whole text. Empty: there is none.
std::string fenced_logs(std::string_view text);
// Sections in the order of the text; blank ones are left out.
std::vector<Section> recognize(std::string_view text);

}  // namespace nb::doctor
