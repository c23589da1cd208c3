#include "harness/doctor/version_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/doctor/version_number.hpp"

namespace nb::doctor {
namespace {

using Rows = std::vector<const VersionRow*>;

Rows rows_of(std::string_view component, std::string_view version, std::string_view needs) {
  Rows rows;
  for (const VersionRow& row : version_rows())
    if (row.component == component && row.requires_component == needs && row.level != "rule" &&
        version_matches(version, row.version))
      rows.push_back(&row);
  return rows;
}

std::string listed(const Rows& rows) {
  std::vector<std::string> versions;
  for (const VersionRow* row : rows)
    if (std::find(versions.begin(), versions.end(), row->required) == versions.end())
      versions.push_back(row->required);
  std::sort(versions.begin(), versions.end(),
            [](const std::string& a, const std::string& b) { return compare_versions(a, b) < 0; });
  return fmt::format("{}", fmt::join(versions, ", "));
}

// How a version stands to the rows that name what it needs.
enum class Fit { kMatched, kCompatible, kConflict, kOlder, kOther, kNoRows };
struct Fitted {
  Fit fit = Fit::kNoRows;
  const VersionRow* row = nullptr;
};
Fitted fit_of(const Rows& rows, std::string_view version) {
  if (rows.empty()) return {};
  const auto with = [&](std::string_view level) -> const VersionRow* {
    for (const VersionRow* row : rows)
      if (row->level == level && version_allowed(version, row->required)) return row;
    return nullptr;
  };
  if (const VersionRow* row = with("matched")) return {Fit::kMatched, row};
  if (const VersionRow* row = with("recommended")) return {Fit::kMatched, row};
  if (const VersionRow* row = with("conflict")) return {Fit::kConflict, row};
  if (const VersionRow* row = with("compatible")) return {Fit::kCompatible, row};
  const bool is_older = std::all_of(rows.begin(), rows.end(), [&](const VersionRow* row) {
    return compare_versions(version, row->required) < 0;
  });
  return {is_older ? Fit::kOlder : Fit::kOther, rows.front()};
}

class Rules {
 public:
  Rules(const Facts& facts, const std::string& file) : facts_(facts), file_(file) {}

  std::vector<Check> run() {
    torch_of_torch_npu();
    cann_of_torch_npu();
    driver_of_cann();
    python_of_torch();
    numpy_of_cann();
    row_of_vllm_ascend();
    row_of_mindspeed();
    packages_of_gpus();
    cuda_build();
    packages_of_the_compiler();
    layout_of_cann();
    return std::move(checks_);
  }

 private:
  const std::string* find(std::string_view name) const { return facts_.find(name); }

  void say(std::string_view id, std::string_view key, State state, std::string_view component,
           const std::string& value, const std::string& expected, Arguments arguments,
           const std::string& source) {
    Check check;
    check.id = id;
    check.group = "versions";
    check.state = state;
    check.variable = component;
    check.value = value;
    check.expected = expected;
    check.said = {std::string(key), std::move(arguments)};
    check.where = {file_,
                   static_cast<int>(facts_.number(std::string(component) + ":line").value_or(0))};
    check.source = source;
    checks_.push_back(std::move(check));
  }

  void torch_of_torch_npu() {
    const std::string* npu = find("torch_npu");
    const std::string* torch = find("torch");
    if (npu == nullptr || torch == nullptr) return;
    const std::string base = base_version(*npu);
    const bool fits = compare_versions(base, base_version(*torch)) == 0;
    const Rows rows = rows_of("torch_npu", *npu, "torch");
    say("VER1", fits ? "VER1.pass" : "VER1", fits ? State::kPass : State::kFail, "torch", *torch,
        base, {{"torch_npu", *npu}, {"torch", *torch}, {"base", base}},
        rows.empty() ? "Ascend/pytorch, compatibility table@9e73e708ab93" : rows.front()->cited());
  }

  void cann_of_torch_npu() {
    const std::string* npu = find("torch_npu");
    const std::string* cann = find("cann");
    if (npu == nullptr || cann == nullptr) return;
    Arguments arguments = {{"torch_npu", *npu}, {"cann", *cann}};
    // A row of vllm-ascend may have builds that the maker's own table lacks.
    if (const std::string* vllm = find("vllm_ascend")) {
      const Fitted build = fit_of(rows_of("vllm_ascend", *vllm, "torch_npu"), *npu);
      const Fitted kit = fit_of(rows_of("vllm_ascend", *vllm, "cann"), *cann);
      if (build.fit == Fit::kMatched && kit.fit == Fit::kMatched)
        return say("VER2", "VER2.pass", State::kPass, "cann", *cann, kit.row->required, arguments,
                   kit.row->cited());
    }
    const Rows own = rows_of("torch_npu", *npu, "cann");
    const std::string release = torch_npu_release_of(*npu);
    Rows rows = own;
    const Rows of_release = rows_of("torch_npu_release", release, "cann");
    if (!release.empty()) rows.insert(rows.end(), of_release.begin(), of_release.end());
    if (rows.empty()) {
      std::vector<std::string> near;
      for (const VersionRow& row : version_rows())
        if (row.component == "torch_npu" && row.requires_component == "cann" &&
            base_version(row.version) == base_version(*npu))
          near.push_back(row.version + " (CANN " + row.required + ")");
      arguments.emplace_back("near", fmt::format("{}", fmt::join(near, ", ")));
      return say("VER2", near.empty() ? "VER2.unknown" : "VER2.build", State::kWarn, "torch_npu",
                 *npu, "", arguments, "Ascend/pytorch, compatibility table@9e73e708ab93");
    }
    const Fitted fitted = fit_of(rows, *cann);
    arguments.emplace_back("listed", listed(rows));
    arguments.emplace_back("release", release);
    arguments.emplace_back("note", fitted.row->note);
    const std::string expected = listed(own.empty() ? rows : own);
    const bool has_list = of_release.size() > 1;
    switch (fitted.fit) {
      case Fit::kMatched:
        return say("VER2", "VER2.pass", State::kPass, "cann", *cann, expected, arguments,
                   fitted.row->cited());
      case Fit::kCompatible:
        arguments.emplace_back("matched", expected);
        return say("VER2", "VER2.compatible", State::kNote, "cann", *cann, expected, arguments,
                   fitted.row->cited());
      case Fit::kConflict:
        return say("VER2", "VER2.conflict", State::kWarn, "cann", *cann, expected, arguments,
                   fitted.row->cited());
      case Fit::kOlder:
      case Fit::kOther:
      case Fit::kNoRows: {
        const bool is_too_old = fitted.fit == Fit::kOlder && has_list;
        return say("VER2", is_too_old ? "VER2.older" : "VER2.other",
                   is_too_old ? State::kFail : State::kWarn, "cann", *cann, expected, arguments,
                   fitted.row->cited());
      }
    }
  }

  void driver_of_cann() {
    const std::string* cann = find("cann");
    const std::string* hdk = find("hdk");
    if (cann == nullptr || hdk == nullptr) return;
    const Rows rows = rows_of("cann", *cann, "hdk");
    if (rows.empty()) return;  // no table of this CANN
    const Fitted fitted = fit_of(rows, *hdk);
    Arguments arguments = {{"cann", *cann}, {"hdk", *hdk}, {"listed", listed(rows)}};
    std::string oldest = rows.front()->required;
    for (const VersionRow* row : rows)
      if (compare_versions(row->required, oldest) < 0) oldest = row->required;
    arguments.emplace_back("oldest", oldest);
    const auto tell = [&](std::string_view key, State state) {
      say("VER3", key, state, "hdk", *hdk, listed(rows), arguments, fitted.row->cited());
    };
    switch (fitted.fit) {
      case Fit::kMatched:
        return tell("VER3.pass", State::kPass);
      case Fit::kConflict:
      case Fit::kCompatible:
        return tell("VER3.compatible", State::kNote);
      case Fit::kOlder:
        return tell("VER3", State::kFail);
      case Fit::kOther:
      case Fit::kNoRows:
        return tell("VER3.other", State::kWarn);
    }
  }

  void python_of_torch() {
    const std::string* torch = find("torch");
    const std::string* python = find("python");
    if (torch == nullptr || python == nullptr) return;
    const Rows rows = rows_of("torch", base_version(*torch), "python");
    if (rows.empty()) return;
    const Fitted fitted = fit_of(rows, *python);
    const bool is_disputed =
        fitted.fit == Fit::kMatched &&
        std::any_of(rows.begin(), rows.end(), [&](const VersionRow* row) {
          return row->level == "conflict" && !version_allowed(*python, row->required);
        });
    const VersionRow* dispute = rows.back();
    Arguments arguments = {{"torch", *torch},
                           {"python", *python},
                           {"listed", rows.front()->required},
                           {"note", dispute->note}};
    if (is_disputed)
      return say("VER4", "VER4.conflict", State::kWarn, "python", *python, dispute->required,
                 arguments, rows.front()->cited() + "; " + dispute->cited());
    const bool fits = fitted.fit == Fit::kMatched || fitted.fit == Fit::kConflict;
    say("VER4", fits ? "VER4.pass" : "VER4", fits ? State::kPass : State::kFail, "python", *python,
        rows.front()->required, arguments, rows.front()->cited());
  }

  void numpy_of_cann() {
    const std::string* cann = find("cann");
    const std::string* numpy = find("numpy");
    if (cann == nullptr || numpy == nullptr) return;
    for (const VersionRow& row : version_rows()) {
      if (row.component != "cann" || row.requires_component != "numpy") continue;
      // "<=8.2" means all of 8.2, its release candidates too.
      const bool is_about = compare_versions(*cann, "8.3.RC1") < 0;
      const bool fits = !is_about || version_allowed(*numpy, row.required);
      say("VER5", fits ? "VER5.pass" : "VER5", fits ? State::kPass : State::kFail, "numpy", *numpy,
          row.required, {{"cann", *cann}, {"numpy", *numpy}}, row.cited());
    }
  }

  // Each requirement of a row of another project's table.
  void row_of(std::string_view id, std::string_view component, State otherwise) {
    const std::string* version = find(component);
    if (version == nullptr) return;
    const bool is_listed =
        std::any_of(version_rows().begin(), version_rows().end(), [&](const VersionRow& row) {
          return row.component == component && version_matches(*version, row.version);
        });
    if (!is_listed)
      return say(id, std::string(id) + ".unknown", State::kWarn, component, *version, "",
                 {{"component", std::string(component)}, {"version", *version}}, "versions.csv");
    bool all_fit = true;
    std::string source;
    for (const char* needed : {"vllm", "torch", "torch_npu", "torch_npu_release", "cann", "hdk",
                               "python", "triton_ascend"}) {
      const Rows rows = rows_of(component, *version, needed);
      std::string own = find(needed) == nullptr ? "" : *find(needed);
      if (std::string_view(needed) == "torch_npu_release" && own.empty() &&
          find("torch_npu") != nullptr)
        own = torch_npu_release_of(*find("torch_npu"));
      if (rows.empty() || own.empty()) continue;
      const Fitted fitted = fit_of(rows, own);
      source = rows.front()->cited();
      if (fitted.fit == Fit::kMatched) continue;
      const bool is_other_build = base_version(own) == base_version(rows.front()->required);
      const State state = fitted.fit == Fit::kCompatible ? State::kNote
                          : is_other_build               ? State::kWarn
                                                         : otherwise;
      all_fit = false;
      say(id, id, state, needed, own, listed(rows),
          {{"component", std::string(component)},
           {"version", *version},
           {"needed", needed},
           {"own", own},
           {"listed", listed(rows)}},
          source);
    }
    if (all_fit && !source.empty())
      say(id, std::string(id) + ".pass", State::kPass, component, *version, "",
          {{"component", std::string(component)}, {"version", *version}}, source);
  }
  void row_of_vllm_ascend() { row_of("VER6", "vllm_ascend", State::kFail); }
  void row_of_mindspeed() { row_of("VER7", "mindspeed_llm", State::kWarn); }

  bool has_package(const char* name) const {
    return facts_.packages && facts_.packages->contains(name);
  }

  void packages_of_gpus() {
    if (find("torch_npu") == nullptr && !has_package("torch_npu")) return;
    for (const char* name : {"triton", "flash_attn", "xformers"}) {
      if (!has_package(name)) continue;
      if (std::string_view(name) == "triton" && has_package("triton_ascend")) continue;
      say("VER8", std::string_view(name) == "triton" ? "VER8.triton" : "VER8", State::kWarn, name,
          facts_.packages->at(name), "", {{"package", name}},
          "modelscope/ms-swift#3279; huggingface/transformers#36618");
    }
  }

  void cuda_build() {
    const std::string* cuda = find("torch_cuda");
    if (cuda == nullptr || (find("torch_npu") == nullptr && !has_package("torch_npu"))) return;
    say("VER9", "VER9", State::kFail, "torch", *cuda, "cpu", {{"cuda", *cuda}},
        "Ascend/pytorch docs@9e73e708ab93");
  }

  void packages_of_the_compiler() {
    if (!facts_.packages || !has_package("torch_npu") || find("packages_are_all") == nullptr)
      return;
    constexpr std::array<const char*, 12> kNeeded = {"numpy",    "decorator", "sympy",  "cffi",
                                                     "protobuf", "attrs",     "pyyaml", "pathlib2",
                                                     "scipy",    "requests",  "psutil", "absl_py"};
    std::vector<std::string> missing;
    for (const char* name : kNeeded)
      if (!has_package(name)) missing.emplace_back(name);
    const std::string list = fmt::format("{}", fmt::join(missing, " "));
    say("VER10", missing.empty() ? "VER10.pass" : "VER10",
        missing.empty() ? State::kPass : State::kFail, "packages", list, "", {{"missing", list}},
        "vllm-project/vllm-ascend#2210; seed guide 004");
  }

  void layout_of_cann() {
    const std::string* cann = find("cann");
    const std::string* path = find("set_env_path");
    if (cann == nullptr || path == nullptr) return;
    const bool is_new = compare_versions(*cann, "8.5.0") >= 0;
    const bool names_old = path->find("ascend-toolkit") != path->npos;
    for (const VersionRow& row : version_rows()) {
      if (row.component != "cann" || row.requires_component != "path") continue;
      if (row.version.starts_with("<") == is_new) continue;
      const bool fits = is_new != names_old;
      say("VER11", fits ? "VER11.pass" : "VER11", fits ? State::kPass : State::kWarn, "cann", *path,
          row.required, {{"cann", *cann}, {"path", *path}, {"required", row.required}},
          row.cited());
    }
  }

  const Facts& facts_;
  const std::string& file_;
  std::vector<Check> checks_;
};

}  // namespace

std::string torch_npu_release_of(const std::string& torch_npu) {
  for (const VersionRow& row : version_rows())
    if (row.component == "torch_npu" && row.requires_component == "torch_npu_release" &&
        version_matches(torch_npu, row.version))
      return row.required;
  return "";
}

std::vector<Check> check_versions(const Facts& facts, const std::string& file) {
  return Rules(facts, file).run();
}

}  // namespace nb::doctor
