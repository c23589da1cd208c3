#include "tests/harness/doctor/examples.hpp"

#include <algorithm>

#include "harness/doctor/lint.hpp"

namespace nb::test {
namespace {

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(by, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

doctor::Facts facts_of(const std::string& text) {
  doctor::Facts facts;
  facts.set("context", "train");
  if (text.empty()) return facts;
  for (const std::string& one : split(text, ',')) {
    const std::size_t equal = one.find('=');
    const std::string name = one.substr(0, equal);
    const std::string value = equal == std::string::npos ? "1" : one.substr(equal + 1);
    if (name == "machine") {
      facts.is_machine = true;
      facts.interfaces = std::vector{doctor::NetworkCard{"eth0", {"10.0.0.4"}}};
    } else if (name == "package") {
      facts.packages = std::map<std::string, std::string>{{value, "1.0"}};
    } else if (name == "listening") {
      facts.listening = std::set<int>{std::stoi(value)};
    } else if (name == "affinity") {
      facts.affinity = {{0, value}};
    } else {
      facts.set(name, value);
    }
  }
  return facts;
}

}  // namespace

std::vector<doctor::Check> found_in_example(const std::string& example) {
  std::string text = example;
  std::string given;
  if (text.starts_with("[")) {
    const std::size_t end = text.find(']');
    given = text.substr(1, end - 1);
    text = text.substr(end + 2);
  }
  const doctor::Facts facts = facts_of(given);
  if (text.starts_with("$ ")) {
    std::string script = text.substr(2);
    for (std::size_t at = script.find("\\n"); at != script.npos; at = script.find("\\n", at))
      script.replace(at, 2, "\n");
    return doctor::lint_script(doctor::read_script(script), facts, "example");
  }
  std::vector<doctor::Setting> settings;
  for (const std::string& one : split(text, ';')) {
    const std::size_t equal = one.find('=');
    // The second half of a value with a semicolon in it.
    const bool is_name =
        equal != one.npos &&
        std::all_of(one.begin(), one.begin() + static_cast<long>(equal), [](char c) {
          return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        });
    if (!is_name || (!settings.empty() && settings.back().name == "ASCEND_MODULE_LOG_LEVEL")) {
      settings.back().value += ";" + one;
      continue;
    }
    doctor::Setting setting;
    setting.name = one.substr(0, equal);
    setting.value = one.substr(equal + 1);
    setting.line = static_cast<int>(settings.size()) + 1;
    settings.push_back(std::move(setting));
  }
  return doctor::lint_environment(settings, facts, "example", true);
}

}  // namespace nb::test
