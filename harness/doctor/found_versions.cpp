#include "harness/doctor/found_versions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/fields.hpp"
#include "harness/base/json_io.hpp"
#include "harness/doctor/facts.hpp"
#include "harness/doctor/pattern.hpp"
#include "harness/doctor/tables.hpp"
#include "harness/doctor/version_number.hpp"

namespace nb::doctor {
namespace {

// Names of packages that versions.csv has rows for, and those that rules ask about.
bool is_component(std::string_view name) {
  static const std::set<std::string, std::less<>> names = [] {
    std::set<std::string, std::less<>> all = {"numpy",  "triton", "flash_attn", "xformers",
                                              "python", "hdk",    "vllm",       "triton_ascend"};
    for (const VersionRow& row : version_rows())
      if (row.component.find("check") == row.component.npos) all.insert(row.component);
    return all;
  }();
  return names.contains(name);
}

bool is_version(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) != 0 &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '+' ||
                  c == '-' || c == '_' || c == '!';
         });
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    while (at < line.size() && std::isspace(static_cast<unsigned char>(line[at])) != 0) ++at;
    const std::size_t begin = at;
    while (at < line.size() && std::isspace(static_cast<unsigned char>(line[at])) == 0) ++at;
    if (at > begin) words.push_back(line.substr(begin, at - begin));
  }
  return words;
}

template <class F>
void each_line(std::string_view text, const F& f) {
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    f(text.substr(0, end), ++number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void add(std::vector<FoundVersion>& found, std::string component, std::string_view version,
         int line) {
  const bool is_there = std::any_of(
      found.begin(), found.end(), [&](const FoundVersion& f) { return f.component == component; });
  if (!is_there) found.push_back({std::move(component), normal_version(version), line});
}

// "torch21" of an image's tag → "2.1"; "py39" → "3.9".
std::string dotted(std::string_view digits) {
  return std::string(digits.substr(0, 1)) + "." + std::string(digits.substr(1));
}

}  // namespace

std::map<std::string, std::string> read_packages(std::string_view text) {
  std::map<std::string, std::string> packages;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  // "[{…": JSON; "[pip3] torch==2.7.1" is a line of collect_env.
  const std::size_t second =
      first == text.npos ? first : text.find_first_not_of(" \t\r\n", first + 1);
  if (second != text.npos && text[first] == '[' && (text[second] == '{' || text[second] == ']')) {
    if (const auto json = parse_json(text, "pip list"); json && json->is_array())
      for (const Json& one : *json)
        if (one.is_object() && one.contains("name") && one["name"].is_string() &&
            one.contains("version") && one["version"].is_string())
          packages[package_name(one["name"].get<std::string>())] = one["version"];
    return packages;
  }
  each_line(text, [&](std::string_view line, int) {
    if (line.starts_with("[pip3] ")) line.remove_prefix(7);
    if (line.starts_with("[conda] ")) line.remove_prefix(8);
    if (line.starts_with("#")) return;
    const std::size_t equal = line.find("==");
    const auto words = words_of(line);
    if (equal != line.npos && words.size() == 1) {
      const std::string_view version = words[0].substr(words[0].find("==") + 2);
      if (is_version(version))
        packages[package_name(words[0].substr(0, words[0].find("==")))] = version;
      return;
    }
    if (words.size() < 2 || words.size() > 4 || !is_version(words[1])) return;
    packages[package_name(words[0])] = words[1];
  });
  return packages;
}

std::vector<FoundVersion> pins_of(const Script& script) {
  static const Pattern pip(R"(\bpip3?\s+install\b)");
  static const Pattern wheel(
      R"(\b(torch_npu|torch|torchvision|triton_ascend|numpy)-(\d[\w.+]*?)-(?:cp|py)\d)");
  static const Pattern cann(
      R"(Ascend-cann-(?:toolkit|kernels|nnae)[\w-]*?_(\d+\.\d+(?:\.\w+)*?)_linux)");
  static const Pattern driver(R"(Ascend-hdk-[\w-]*?npu-driver_(\d+\.\d+(?:\.\w+)*?)_linux)");
  static const Pattern image(R"(\bcann:?v?(\d+\.\d+(?:\.(?:RC|rc)?\d+)+(?:\.\w+)?))");
  static const Pattern image_torch(R"(\bcann\S*-torch(\d)(\d{1,2})\b)");
  static const Pattern image_python(R"(\bcann\S*-py(3)\.?(\d{1,2})\b)");
  static const Pattern conda(R"(\bconda\s+(?:create|install)\b.*\bpython=+(3\.\d{1,2}(?:\.\d+)?))");
  std::vector<FoundVersion> found;
  for (const Line& line : script.lines) {
    if (line.text.size() > 4096) continue;
    if (pip.found_in(line.text))
      for (std::string_view word : words_of(line.text)) {
        while (!word.empty() && (word.front() == '"' || word.front() == '\''))
          word.remove_prefix(1);
        while (!word.empty() && (word.back() == '"' || word.back() == '\'')) word.remove_suffix(1);
        const std::size_t equal = word.find("==");
        if (equal == word.npos) continue;
        const std::string name = package_name(word.substr(0, std::min(equal, word.find('['))));
        if (is_component(name) && is_version(word.substr(equal + 2)))
          add(found, name, word.substr(equal + 2), line.number);
      }
    if (const auto m = wheel.match(line.text); m.size() == 3 && is_component(m[1]))
      add(found, std::string(m[1]), m[2], line.number);
    if (const auto m = cann.match(line.text); m.size() == 2) add(found, "cann", m[1], line.number);
    if (const auto m = driver.match(line.text); m.size() == 2) add(found, "hdk", m[1], line.number);
    if (const auto m = image.match(line.text); m.size() == 2) add(found, "cann", m[1], line.number);
    if (const auto m = image_torch.match(line.text); m.size() == 3)
      add(found, "torch", std::string(m[1]) + "." + std::string(m[2]) + ".0", line.number);
    if (const auto m = image_python.match(line.text); m.size() == 3)
      add(found, "python", dotted(std::string(m[1]) + std::string(m[2])), line.number);
    if (const auto m = conda.match(line.text); m.size() == 2)
      add(found, "python", m[1], line.number);
  }
  return found;
}

std::vector<FoundVersion> stated_versions(std::string_view text) {
  struct Stated {
    std::string_view start, component;
  };
  // Files of the driver and the toolkit; collect_env of torch, torch_npu and vllm.
  constexpr std::array kStated = {
      Stated{"Version=", "hdk"},
      Stated{"version=", "cann"},
      Stated{"PyTorch version: ", "torch"},
      Stated{"Torch version: ", "torch"},
      Stated{"torch version: ", "torch"},
      Stated{"Torch-npu version: ", "torch_npu"},
      Stated{"torch_npu version: ", "torch_npu"},
      Stated{"torch-npu version: ", "torch_npu"},
      Stated{"CANN version: ", "cann"},
      Stated{"CANN: ", "cann"},
      Stated{"Driver version: ", "hdk"},
      Stated{"NPU driver version: ", "hdk"},
      Stated{"Python version: ", "python"},
      Stated{"vLLM Version: ", "vllm"},
      Stated{"vLLM Ascend Version: ", "vllm_ascend"},
      Stated{"vLLM-Ascend Version: ", "vllm_ascend"},
  };
  std::vector<FoundVersion> found;
  each_line(text, [&](std::string_view line, int number) {
    for (const Stated& stated : kStated) {
      if (!line.starts_with(stated.start)) continue;
      const auto words = words_of(line.substr(stated.start.size()));
      std::string version = words.empty() ? "" : std::string(words[0]);
      if (version.starts_with("[")) version = version.substr(1, version.find(':') - 1);
      version = normal_version(version);
      if (is_version(version)) add(found, std::string(stated.component), version, number);
      return;
    }
    if (line.starts_with("[pip3] ") || line.starts_with("[conda] "))
      for (const auto& [name, version] : read_packages(line))
        if (is_component(name)) add(found, name, version, number);
  });
  return found;
}

Result<std::vector<FoundVersion>> parse_versions(const std::string& text) {
  std::vector<FoundVersion> found;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string one = text.substr(at, end - at);
    at = end + 1;
    const std::size_t equal = one.find('=');
    const std::string name = package_name(one.substr(0, equal));
    if (equal == one.npos || !is_version(normal_version(one.substr(one.find_last_of('=') + 1))))
      return bad_input(
          fmt::format("--versions: \"{}\" is not component=version, as in "
                      "torch=2.7.1,torch_npu=2.7.1,cann=8.3.RC1,python=3.11",
                      one));
    if (!is_component(name)) {
      const std::vector<std::string> known = {
          "torch", "torch_npu",   "cann",          "hdk",    "python",       "numpy",
          "vllm",  "vllm_ascend", "mindspeed_llm", "triton", "triton_ascend"};
      return bad_input(
          fmt::format("--versions: no rows about \"{}\"{}", name, did_you_mean(name, known)));
    }
    add(found, name, one.substr(one.find_last_of('=') + 1), 0);
  }
  return found;
}

}  // namespace nb::doctor
