// The small language that environment.csv says its conditions in. Three answers: what is not known
// makes no finding, and no pass either.
//
//   expression  and | and …          and      not && not …          not    [!] test, or
//   (expression) test        [subject] word       without a subject: the row's own variable subject
//   HCCL_EXEC_TIMEOUT    another variable, as it is set at that place
//               key(max_split_size_mb)  of a value "key:value,key:value"
//               cann, nodes, card …  a fact
//               line                 a line of a script
//   word        set  unset  empty  unknown  not_int  loopback  dir  file  json …
//               ==v !=v <v <=v >v >=v  v a number, a version, a text, or a variable (its default,
//               if unset) in{a,b}  not_in{a,b}  int_outside[a,b]  multiple_of N  regex R
//   A bare name is a fact that holds or not (npu, torchrun), package(x), or one of lint_words.hpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "harness/doctor/assignments.hpp"
#include "harness/doctor/check.hpp"
#include "harness/doctor/facts.hpp"

namespace nb::doctor {

enum class Known { kNo, kYes, kUnknown };
inline Known known(bool holds) { return holds ? Known::kYes : Known::kNo; }

// Where a condition is asked: one setting, or one line of a script, or a variable that is not set.
struct Scene {
  const Facts* facts = nullptr;
  std::string variable;          // the row's
  const Setting* own = nullptr;  // nullptr: not set (or not looked for: a line)
  const Line* line = nullptr;
  const Script* script = nullptr;  // of a static text
  bool is_whole = false;           // what is not set here is not set anywhere
  std::function<const Setting*(std::string_view name)> find;  // nearest setting of another variable
  Arguments* arguments = nullptr;  // what words add for the sentence: {rest}, {n}, {list}
};

class Condition {
 public:
  // A broken one is our own mistake.
  explicit Condition(std::string_view text);
  ~Condition();
  Condition(Condition&&) noexcept;
  Condition& operator=(Condition&&) noexcept;

  Known holds(const Scene& scene) const;
  bool asks_for_lines() const;    // "line …" or a word about lines
  bool asks_for_absence() const;  // "unset" of the row's own variable

  struct Node;

 private:
  std::unique_ptr<Node> root_;
};

}  // namespace nb::doctor
