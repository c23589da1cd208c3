#include "harness/doctor/lint.hpp"

#include <algorithm>
#include <map>

#include "harness/doctor/condition.hpp"
#include "harness/doctor/network.hpp"
#include "harness/doctor/pattern.hpp"

namespace nb::doctor {
namespace {

struct Rule {
  const EnvironmentRow* row;
  Condition condition;
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = [] {
    std::vector<Rule> made;
    for (const EnvironmentRow& row : environment_rows())
      if (!row.rule.empty()) made.push_back({&row, Condition(row.condition)});
    return made;
  }();
  return all;
}

// "A_*|B_*" and "*" by their beginnings; a name by itself.
bool is_about(std::string_view pattern, std::string_view name) {
  while (!pattern.empty()) {
    const std::size_t end = std::min(pattern.find('|'), pattern.size());
    const std::string_view one = pattern.substr(0, end);
    if (one.ends_with("*") ? name.starts_with(one.substr(0, one.size() - 1)) : name == one)
      return true;
    pattern.remove_prefix(std::min(end + 1, pattern.size()));
  }
  return false;
}

Check finding(const EnvironmentRow& row, const Scene& scene, Arguments arguments,
              const std::string& file, int line) {
  Check check;
  check.id = row.rule;
  check.group = "environment";
  check.state = row.severity;
  check.variable = scene.own != nullptr ? scene.own->name : row.variable;
  if (scene.own != nullptr) check.value = scene.own->value;
  check.expected = row.values;
  // A part of a value that a rule is about stands before the whole.
  const auto add = [&](const char* name, const std::string& value) {
    arguments.emplace_back(name, value);
  };
  add("v", check.value);
  if (row.variable == "ASCEND_GLOBAL_LOG_LEVEL") {
    constexpr std::string_view kNames[] = {"debug", "info", "warning", "error", "none"};
    if (check.value.size() == 1 && check.value[0] >= '0' && check.value[0] <= '4')
      add("name", std::string(kNames[check.value[0] - '0']));
  }
  const auto limit = std::find_if(arguments.begin(), arguments.end(),
                                  [](const auto& a) { return a.first == "limit"; });
  const std::string compared = limit == arguments.end() ? "" : limit->second;
  add("c", compared);
  if (row.rule == "ENV138") add("e", compared);
  add("e", check.value);
  if (scene.find) {
    if (const Setting* queue = scene.find("TASK_QUEUE_ENABLE")) add("q", queue->value);
  }
  if (scene.facts->interfaces) {
    const auto choice = hccl_choice(*scene.facts->interfaces, "", "");
    add("name", choice ? choice->card : "lo");
  }
  if (row.rule == "ENV136") {
    const long long value = std::atoll(check.value.c_str());
    add("f", std::to_string(value / 68 * 68));
  }
  check.said = {row.rule, std::move(arguments)};
  check.where = {file, line};
  check.source = row.source;
  return check;
}

// What holds of a place besides single rules: one rule says more than another.
void drop_weaker(std::vector<Check>& found) {
  const auto has = [&](std::string_view id) {
    return std::any_of(found.begin(), found.end(), [&](const Check& c) { return c.id == id; });
  };
  if (has("ENV002")) std::erase_if(found, [](const Check& c) { return c.id == "ENV001"; });
  if (has("ENV223")) std::erase_if(found, [](const Check& c) { return c.id == "ENV224"; });
  // A value that cannot be read means nothing else.
  if (std::any_of(found.begin(), found.end(),
                  [](const Check& c) { return c.state == State::kFail && !c.value.empty(); }))
    std::erase_if(found, [](const Check& c) { return c.state == State::kWarn; });
}

class Lint {
 public:
  Lint(const std::vector<Setting>& settings, const Facts& facts, std::string file,
       const Script* script, bool is_whole)
      : settings_(settings),
        facts_(facts),
        file_(std::move(file)),
        script_(script),
        is_whole_(is_whole) {
    for (std::size_t i = 0; i < settings.size(); ++i) places_[settings[i].name].push_back(i);
  }

  std::vector<Check> run() {
    std::vector<Check> all;
    for (std::size_t i = 0; i < settings_.size(); ++i) append(all, of_setting(i));
    if (script_ != nullptr)
      for (const Line& line : script_->lines) append(all, of_line(line));
    if (is_whole_) append(all, of_absence());
    return all;
  }

 private:
  static void append(std::vector<Check>& all, std::vector<Check> more) {
    drop_weaker(more);
    for (Check& check : more) all.push_back(std::move(check));
  }

  Scene scene(const Rule& rule, std::size_t at) const {
    Scene scene;
    scene.facts = &facts_;
    scene.variable = rule.row->variable;
    scene.script = script_;
    scene.is_whole = is_whole_;
    scene.find = [this, at](std::string_view name) { return nearest(name, at); };
    return scene;
  }

  // The last setting before that place, else the first behind it.
  const Setting* nearest(std::string_view name, std::size_t at) const {
    const auto found = places_.find(name);
    if (found == places_.end()) return nullptr;
    const auto& places = found->second;
    const auto after = std::upper_bound(places.begin(), places.end(), at);
    return &settings_[after == places.begin() ? *after : *std::prev(after)];
  }

  std::vector<Check> of_setting(std::size_t index) const {
    std::vector<Check> found;
    for (const Rule& rule : rules()) {
      if (!is_about(rule.row->variable, settings_[index].name)) continue;
      Arguments arguments;
      Scene scene = this->scene(rule, index);
      scene.own = &settings_[index];
      scene.arguments = &arguments;
      if (rule.condition.holds(scene) == Known::kYes)
        found.push_back(finding(*rule.row, scene, arguments, file_, settings_[index].line));
    }
    return found;
  }

  std::vector<Check> of_line(const Line& line) const {
    std::vector<Check> found;
    for (const Rule& rule : rules()) {
      if (rule.row->variable != "script" || !rule.condition.asks_for_lines()) continue;
      Arguments arguments;
      Scene scene = this->scene(rule, settings_.size());
      scene.line = &line;
      scene.arguments = &arguments;
      if (rule.condition.holds(scene) == Known::kYes)
        found.push_back(finding(*rule.row, scene, arguments, file_, line.number));
    }
    return found;
  }

  std::vector<Check> of_absence() const {
    std::vector<Check> found;
    for (const Rule& rule : rules()) {
      if (!rule.condition.asks_for_absence() || places_.contains(rule.row->variable)) continue;
      Arguments arguments;
      Scene scene = this->scene(rule, settings_.size());
      scene.arguments = &arguments;
      if (rule.condition.holds(scene) == Known::kYes)
        found.push_back(finding(*rule.row, scene, arguments, file_, 0));
    }
    return found;
  }

  const std::vector<Setting>& settings_;
  const Facts& facts_;
  std::string file_;
  const Script* script_;
  bool is_whole_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> places_;
};

}  // namespace

std::vector<Check> lint_script(const Script& script, const Facts& given, const std::string& file) {
  Facts facts = given;
  const auto says = [&](std::string_view word) { return script.mentions(word); };
  const bool sets_ascend =
      std::any_of(script.settings.begin(), script.settings.end(), [](const Setting& s) {
        return s.name.starts_with("ASCEND_") || s.name.starts_with("HCCL_");
      });
  if (says("torch_npu") || sets_ascend) facts.add("npu", "1");
  facts.add("torchrun", says("torchrun") ? "1" : "0");
  facts.add("standalone", says("torchrun --standalone") ? "1" : "0");
  facts.add("set_env", says("set_env.sh") ? "1" : "0");
  facts.add("docker", says("docker run") || says("ascend-docker") ? "1" : "0");
  facts.add("profiling", says("torch_npu.profiler.") || says("msprof ") ? "1" : "0");
  if (says("use_deterministic_algorithms(True")) facts.add("determinism_wanted", "1");
  // A guide installs what it names; what it does not name may still be there.
  if (!facts.packages && says("torch_npu"))
    facts.packages = {{"torch_npu", ""}, {"hf_transfer", ""}};
  static const Pattern limit(
      R"(init_process_group\([^)]*timeout\s*=\s*(?:datetime\.)?timedelta\((seconds|minutes|hours)=(\d{1,6})\))");
  if (const auto found = limit.match(std::string_view(script.text).substr(0, 1U << 20));
      found.size() == 3) {
    const long long unit = found[1] == "hours" ? 3600 : found[1] == "minutes" ? 60 : 1;
    facts.add("pg_timeout_s", std::to_string(unit * std::atoll(std::string(found[2]).c_str())));
  }
  return Lint(script.settings, facts, file, &script, false).run();
}

std::vector<Check> lint_environment(const std::vector<Setting>& settings, const Facts& given,
                                    const std::string& file, bool is_whole) {
  Facts facts = given;
  const bool sets_ascend = std::any_of(settings.begin(), settings.end(), [](const Setting& s) {
    return s.name.starts_with("ASCEND_") || s.name.starts_with("HCCL_");
  });
  if (sets_ascend) facts.add("npu", "1");
  // A process has what set_env.sh left; that the script was named anywhere is not asked.
  facts.add("set_env", "0");
  return Lint(settings, facts, file, nullptr, is_whole).run();
}

}  // namespace nb::doctor
