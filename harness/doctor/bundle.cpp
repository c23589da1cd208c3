#include "harness/doctor/bundle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/gzip.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/table.hpp"
#include "harness/base/visible_text.hpp"
#include "harness/doctor/inputs.hpp"
#include "harness/doctor/tables.hpp"

namespace nb::doctor {
namespace {

constexpr std::size_t kTail = std::size_t{1} << 20;        // bytes of a log's end
constexpr std::size_t kBlock = 4096;                       // bytes around its first error
constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of all files together

bool is_of_interest(std::string_view name) {
  constexpr std::array<std::string_view, 17> kStarts = {
      "ASCEND_", "HCCL_",       "HCOMM_", "NPU_",  "TORCH",          "PYTORCH_",
      "ATB_",    "LCCL_",       "VLLM_",  "OMP_",  "MASTER_",        "WORLD_SIZE",
      "RANK",    "HF_ENDPOINT", "CUDA_",  "NCCL_", "LD_LIBRARY_PATH"};
  const auto rows = environment_rows();
  return std::any_of(kStarts.begin(), kStarts.end(),
                     [&](std::string_view start) { return name.starts_with(start); }) ||
         std::any_of(rows.begin(), rows.end(),
                     [&](const EnvironmentRow& row) { return row.variable == name; });
}

// The end of a file, from the beginning of a line.
std::string tail_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return "";
  const auto size = static_cast<std::streamoff>(file.tellg());
  const std::streamoff from =
      std::max<std::streamoff>(0, size - static_cast<std::streamoff>(kTail));
  std::string text(static_cast<std::size_t>(size - from), '\0');
  file.seekg(from);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (from > 0) text.erase(0, std::min(text.find('\n') + 1, text.size()));
  return decoded_text(std::move(text));
}

// Lines around the first error, which may stand far from the end.
std::string first_error(const fs::path& path, const Findings& findings) {
  long long line = 0;
  for (const Root& root : findings.diagnosis.roots)
    if (root.event.file == path.string()) line = root.event.line;
  for (const Link& link : findings.diagnosis.chain)
    if (line == 0 && link.event.file == path.string()) line = link.event.line;
  if (line == 0) return "";
  std::ifstream file(path, std::ios::binary);
  std::string block, one;
  for (long long number = 1; std::getline(file, one) && number < line + 40; ++number)
    if (number > line - 10 && block.size() < 16 * kBlock) block += one.substr(0, kBlock) + "\n";
  return block;
}

// Texts alone: names of fields are ours.
Json redacted(const Json& json, Redactor& redactor) {
  if (json.is_string()) return redactor.redacted(json.get_ref<const std::string&>());
  if (!json.is_structured()) return json;
  Json result = json.is_array() ? Json::array() : Json::object();
  if (json.is_array())
    for (const Json& one : json) result.push_back(redacted(one, redactor));
  else
    for (const auto& [key, value] : json.items()) result[key] = redacted(value, redactor);
  return result;
}

std::string octal(std::size_t value, int width) { return fmt::format("{:0{}o}", value, width); }

std::string tar_member(const std::string& name, const std::string& text) {
  std::string header(512, '\0');
  const auto put = [&](std::size_t at, const std::string& field) {
    header.replace(at, field.size(), field);
  };
  put(0, name.substr(0, 99));
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, octal(text.size(), 11));
  put(136, octal(0, 11));
  put(148, "        ");
  header[156] = '0';
  put(257, "ustar");
  put(263, "00");
  std::size_t sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(148, octal(sum, 6));
  header[154] = '\0';
  return header + text + std::string((512 - text.size() % 512) % 512, '\0');
}

// A path as a name within the archive: at most 90 bytes, no way out of it.
std::string member_name(const std::string& path) {
  std::string name = path;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-' && c != '_') c = '_';
  while (name.starts_with("_") || name.starts_with(".")) name.erase(0, 1);
  return "logs/" + (name.size() > 80 ? name.substr(name.size() - 80) : name);
}

}  // namespace

Bundle make_bundle(const Findings& findings, const std::vector<Setting>& environment,
                   const std::vector<std::string>& logs, Redactor& redactor) {
  Bundle bundle;
  std::size_t bytes = 0;
  const auto add = [&](const std::string& name, std::string text) {
    if (text.empty()) return;
    if (bytes + text.size() > kMostBytes) return bundle.left_out.push_back(name);
    bytes += text.size();
    bundle.files[name] = std::move(text);
  };
  if (const auto report = dump_json(redacted(json_of(findings, Language::kEn), redactor)))
    add("doctor.json", *report + "\n");
  std::vector<std::string> lines;
  for (const Setting& setting : environment)
    if (is_of_interest(setting.name))
      lines.push_back(setting.name + "=" +
                      (is_secret_name(setting.name) ? "(removed)" : setting.value) + "\n");
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += redactor.redacted(line);
  add("environment.txt", text);
  add("npu-smi.txt", redactor.redacted(findings.command_output));
  Json versions = Json::object();
  for (const char* name : {"cann", "hdk", "torch", "torch_npu", "python", "numpy", "vllm",
                           "vllm_ascend", "mindspeed_llm"})
    if (const std::string* version = findings.facts.find(name))
      versions[name] = utf8_text(*version);
  if (const auto json = dump_json(versions); json && !versions.empty())
    add("versions.json", *json + "\n");
  std::vector<std::string> files;
  std::error_code error;
  for (const std::string& log : logs) {
    if (fs::is_regular_file(log, error)) files.push_back(log);
    if (!fs::is_directory(log, error)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(
             log, fs::directory_options::skip_permission_denied, error))
      if (entry.is_regular_file(error) && !entry.is_symlink(error)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    const std::string tail = tail_of(file);
    const std::string block = first_error(file, findings);
    const std::string name = member_name(redactor.redacted(file));
    add(name, redactor.redacted(tail));
    if (tail.find(block) == tail.npos) add(name + ".first_error", redactor.redacted(block));
  }
  Json manifest = Json::object();
  for (const auto& [name, content] : bundle.files)
    manifest[name] = {{"bytes", content.size()}, {"sha256", sha256_hex(content)}};
  if (const auto json = dump_json(manifest)) bundle.files["MANIFEST.json"] = *json + "\n";
  return bundle;
}

std::string list_text(const Bundle& bundle) {
  std::string text;
  for (const auto& [name, content] : bundle.files)
    text +=
        fmt::format("{}  {} bytes\n", name, with_commas(static_cast<long long>(content.size())));
  for (const std::string& name : bundle.left_out)
    text += fmt::format("{}  left out: the bundle has 64 MiB already\n", name);
  return text;
}

std::string bundle_bytes(const Bundle& bundle) {
  std::string tar;
  for (const auto& [name, content] : bundle.files) tar += tar_member(name, content);
  return gzip(tar + std::string(1024, '\0'));
}

}  // namespace nb::doctor
