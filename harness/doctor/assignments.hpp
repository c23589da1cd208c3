// What a text sets: environment dumps, shell scripts, Dockerfiles, Python, YAML, Markdown guides
// that quote them. Nothing is run; a value that a shell would compute is known to be one. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nb::doctor {

// One variable set at one place.
struct Setting {
  std::string name, value;
  int line = 0;               // from 1
  bool is_computed = false;   // the value has $NAME, $(…) or `…` in it: not known here
  bool overwrites = false;    // os.environ["A"] = …, which does not look whether A is set
  bool after_torch = false;   // in Python, behind import torch or torch_npu
  bool after_import = false;  // in Python, behind an import of a library of Hugging Face
  std::string remark;         // behind # on the same line
};

// One command or statement, with the lines that \ continues joined.
struct Line {
  std::string text;
  int number = 0;  // of its first line
};

struct Script {
  std::vector<Line> lines;
  std::vector<Setting> settings;  // in the order of the text
  bool mentions(std::string_view word) const;
  std::string text;
};
Script read_script(std::string_view text);

// `env`, `export -p`, `declare -x`, `set`: NAME=value per line; quotes are taken off.
std::vector<Setting> read_dump(std::string_view text);

}  // namespace nb::doctor
