#include "harness/doctor/recognize.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "harness/base/byte_order_mark.hpp"
#include "harness/base/json_io.hpp"
#include "harness/doctor/pattern.hpp"
#include "harness/doctor/pci.hpp"
#include "harness/doctor/rank_table.hpp"

namespace nb::doctor {
namespace {

constexpr std::size_t kLongestTried = 4096;  // bytes that a pattern is tried on
constexpr std::size_t kLeastDump = 3;        // lines NAME=value in a row that are a dump
constexpr std::size_t kLeastFreeze = 3;      // lines name==version in a row that are a list

struct Lines {
  std::vector<std::string_view> all;
  explicit Lines(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      if (line.ends_with('\r')) line.remove_suffix(1);
      all.push_back(line);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
};

bool is_blank(std::string_view line) {
  return std::all_of(line.begin(), line.end(),
                     [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; });
}

bool matches(const Pattern& pattern, std::string_view line) {
  return pattern.found_in(line.substr(0, kLongestTried));
}

// ---- lines that belong to one kind

bool is_table_line(std::string_view line) {
  return line.starts_with("+-") || line.starts_with("+=") || line.starts_with("|");
}
bool is_dump_line(std::string_view line) {
  static const Pattern dump(R"(^(?:declare -x |export )?[A-Za-z_][A-Za-z0-9_]*=)");
  return matches(dump, line);
}
bool is_freeze_line(std::string_view line) {
  static const Pattern freeze(R"(^[A-Za-z0-9][\w.-]*(?:==\d\S*| @ \S+)$)");
  return matches(freeze, line);
}
bool is_package_line(std::string_view line) {
  static const Pattern package(R"(^[A-Za-z0-9_][\w.-]*\s+v?\d[\w.+!-]*(?:\s+\S+){0,2}\s*$)");
  return matches(package, line);
}
bool is_topology_line(std::string_view line) {
  static const Pattern row(R"(^\s*NPU\d+\s+(?:NPU\d|X\b|HCCS|SYS|PHB|PIX|PXB|SIO|HCCS_SW|NA\b))");
  return matches(row, line);
}
bool is_detail_line(std::string_view line) {
  static const Pattern detail(
      R"(^\s*(?:(?:HBM|DDR) (?:Single|Double) Bit |NPU ID\s*:|Chip ID\s*:|Chip Count\s*:|Product Name\s*:|link status:|ipaddr:|netmask:|tls switch|dev_id:\d+, tls|net health status:|(?:# ?|\$ ?)?(?:hccn_tool -i |npu-smi info -t )))");
  return matches(detail, line);
}
bool is_version_line(std::string_view line) {
  static const Pattern version(
      R"(^(?:Version=|version=|package_version=|ascendhal_version=|PyTorch version: |Torch version: |torch version: |Torch-npu version: |torch[_-]npu version: |CANN version: |CANN: |Python version: |vLLM (?:Ascend )?Version: |\[(?:pip3|conda)\] \S))");
  return matches(version, line);
}
bool is_clock_line(std::string_view line) {
  static const Pattern clock(
      R"(^\s*(?:System time\s*: |Last offset\s*: |Leap status\s*: |System clock synchronized: |NTP service: |-P (?:INPUT|FORWARD|OUTPUT) |-A (?:INPUT|FORWARD|OUTPUT) |[\w.-]{1,253}: 1\d{9}\.\d{9}$))");
  return matches(clock, line);
}

// ---- what is left: a program or what one printed

bool is_script_line(std::string_view line) {
  static const Pattern script(
      R"(^\s*(?:export [A-Za-z_]+=|(?:RUN |sudo |\$ |# )*(?:python3? -m )?pip3? install |(?:sudo )?docker (?:run|load|pull|build) |torchrun |source \S*set_env\.sh|os\.environ|import [a-z_]+$|from \S+ import |FROM \S|RUN |ENV [A-Z]|#!/|set -e|conda (?:create|install|activate) |[A-Z][A-Z0-9_]+=\S|```|#{1,6} \S|- name: [A-Z_]+$|[A-Z][A-Z0-9_]+_[A-Z0-9_]+: ))");
  return matches(script, line);
}
bool is_log_line(std::string_view line) {
  static const Pattern log(
      R"(\[(?:ERROR|INFO|WARNING|DEBUG|EVENT)\]|\d{4}-\d\d-\d\d[-T ]\d\d:\d\d:\d\d|Traceback \(most recent call last\)|^\w*(?:\.\w+)*(?:Error|Exception)\b: ?|^\[?rank\d|^E[A-Z]\d{4}: |exitcode\s*:|^\[ *\d+\.\d{6}\] )");
  // Trainings and servers that say how far they are: nanochat, Megatron, Hugging Face, tqdm, vLLM.
  static const Pattern progress(
      R"(^\s*(?:step|iter(?:ation)?|epoch)[ :=]+\d+\b.*\d|\d/ *\d+ \[\d\d:\d\d<|^\{'(?:loss|train_runtime|eval_loss)': |^\[?(?:INFO|WARNING|ERROR|DEBUG)\b[ :|]|\b\d\d:\d\d:\d\d\b.*\b(?:INFO|WARN(?:ING)?|ERROR|DEBUG)\b|^\[\w{3} \w{3} [ \d]\d [\d:]{8} \d{4}\] |^\w{3} [ \d]\d \d\d:\d\d:\d\d \S+ \S+: |\bloss\b[ :=]+\d+\.\d)");
  return matches(log, line) || matches(progress, line);
}

bool is_whole(const std::vector<std::string_view>& lines, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    std::string_view line = lines[i];
    for (const std::string_view start : {"declare -x ", "export "})
      if (line.starts_with(start)) line.remove_prefix(start.size());
    if (line.starts_with("PATH=") || line.starts_with("HOME=") || line.starts_with("PWD="))
      return true;
  }
  return false;
}

// A dump's values are texts; a script's have what a shell computes, remarks and commands between.
bool is_dump(const std::vector<std::string_view>& lines, std::size_t begin, std::size_t end) {
  if (end - begin < kLeastDump && !is_whole(lines, begin, end)) return false;
  bool is_export = false;
  for (std::size_t i = begin; i < end; ++i) {
    if (lines[i].find("$(") != lines[i].npos || lines[i].find("${") != lines[i].npos ||
        lines[i].find("  #") != lines[i].npos || lines[i].find('`') != lines[i].npos ||
        lines[i].find("=$") != lines[i].npos || lines[i].find(":$") != lines[i].npos)
      return false;
    if (lines[i].starts_with("export ")) is_export = true;
  }
  return !is_export || is_whole(lines, begin, end);
}

std::vector<Section> recognize_json(std::string_view text) {
  Section section;
  section.text = text;
  if (looks_like_rank_table(text)) {
    section.kind = Kind::kRankTable;
    return {section};
  }
  const auto json = parse_json(text, "text");
  if (!json) return {};
  if (json->is_object() && json->value("schema", Json()) == "npubench.doctor/1") {
    section.kind = Kind::kReport;
    return {section};
  }
  if (json->is_object() && json->contains("schema") && json->contains("node_key") &&
      json->contains("environment")) {
    section.kind = Kind::kRecord;
    return {section};
  }
  const Json* map = &*json;
  if (json->is_object() && json->contains("ENV_VARIABLES")) map = &json->at("ENV_VARIABLES");
  if (map->is_array() && !map->empty() && map->front().is_object() &&
      map->front().contains("name") && map->front().contains("version")) {
    section.kind = Kind::kPackages;
    return {section};
  }
  if (!map->is_object() || map->empty()) return {};
  std::string dump;
  std::size_t variables = 0;  // in capitals
  for (const auto& [key, value] : map->items()) {
    variables += std::none_of(key.begin(), key.end(), [](char c) {
      return std::islower(static_cast<unsigned char>(c)) != 0;
    });
    if (!value.is_string() && !value.is_number()) return {};
    if (std::any_of(key.begin(), key.end(), [](char c) {
          return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_';
        }))
      return {};
    std::string shown = value.is_string() ? value.get<std::string>() : value.dump();
    std::replace(shown.begin(), shown.end(), '\n', ' ');
    dump += key + "=" + shown + "\n";
  }
  if (variables * 2 < map->size()) return {};
  section.kind = Kind::kEnvironment;
  section.is_whole_environment = map->contains("PATH") || map->contains("HOME");
  section.text = dump;
  return {section};
}

class Recognizer {
 public:
  explicit Recognizer(std::string_view text) : lines_(Lines(text).all) {}

  std::vector<Section> run() {
    for (std::size_t at = 0; at < lines_.size();) {
      const std::size_t end = block_at(at);
      if (end == at) {
        rest_.push_back(at++);
        continue;
      }
      at = end;
    }
    end_rest();
    std::stable_sort(sections_.begin(), sections_.end(), [](const Section& a, const Section& b) {
      return a.first_line < b.first_line;
    });
    return std::move(sections_);
  }

 private:
  template <class F>
  std::size_t run_of(std::size_t at, const F& belongs) const {
    while (at < lines_.size() && belongs(lines_[at])) ++at;
    return at;
  }

  void add(Kind kind, std::size_t begin, std::size_t end) {
    Section section;
    section.kind = kind;
    section.first_line = static_cast<int>(begin) + 1;
    for (std::size_t i = begin; i < end; ++i) section.text += std::string(lines_[i]) + "\n";
    section.is_whole_environment = kind == Kind::kEnvironment && is_whole(lines_, begin, end);
    sections_.push_back(std::move(section));
  }

  // Where the block of one kind that begins at `at` ends; `at`: none begins.
  std::size_t block_at(std::size_t at) {
    const std::string_view line = lines_[at];
    if (is_table_line(line)) {
      const std::size_t end = run_of(at, is_table_line);
      for (std::size_t i = at; i < end; ++i)
        if (lines_[i].find("-Usage(MB)") != line.npos ||
            lines_[i].find("Process id") != line.npos || lines_[i].find("npu-smi ") != line.npos) {
          add(Kind::kSmiInfo, at, end);
          return end;
        }
      return at;
    }
    if (is_topology_line(line)) return block(Kind::kSmiTopology, at, run_of(at, is_topology_line));
    if (is_detail_line(line))
      return block(Kind::kCardDetails, at, run_of(at, [](std::string_view l) {
                     return is_detail_line(l) || is_blank(l) || l.find("Bit Error C") != l.npos ||
                            l.find(" : ") != l.npos;
                   }));
    if (is_pci_line(line)) return block(Kind::kPci, at, run_of(at, is_pci_line));
    if (is_clock_line(line)) return block(Kind::kClocks, at, run_of(at, is_clock_line));
    if (is_version_line(line))
      return block(Kind::kVersions, at, run_of(at, [](std::string_view l) {
                     return is_version_line(l) || is_blank(l);
                   }));
    if (line.starts_with("Package ") && line.find(" Version") != line.npos)
      return block(Kind::kPackages, at, run_of(at + 1, [](std::string_view l) {
                     return is_package_line(l) || l.starts_with("---");
                   }));
    if (line.starts_with("# packages in environment"))
      return block(Kind::kPackages, at, run_of(at + 1, [](std::string_view l) {
                     return is_package_line(l) || l.starts_with("#");
                   }));
    if (is_freeze_line(line)) {
      const std::size_t end = run_of(at, is_freeze_line);
      return end - at >= kLeastFreeze || end - at == lines_.size() ? block(Kind::kPackages, at, end)
                                                                   : at;
    }
    if (is_dump_line(line)) {
      const std::size_t end = run_of(at, is_dump_line);
      if (is_dump(lines_, at, end)) return block(Kind::kEnvironment, at, end);
    }
    return at;
  }
  std::size_t block(Kind kind, std::size_t begin, std::size_t end) {
    add(kind, begin, end);
    return end;
  }

  // Lines that are no block keep their numbers: others stand as blank ones.
  void end_rest() {
    std::size_t of_script = 0, of_log = 0, of_any = 0;
    bool is_fenced = false;
    for (const std::size_t i : rest_) {
      of_any += is_blank(lines_[i]) ? 0U : 1U;
      of_script += is_script_line(lines_[i]) ? 1U : 0U;
      of_log += is_log_line(lines_[i]) ? 1U : 0U;
      is_fenced = is_fenced || lines_[i].starts_with("```");
    }
    if (of_any == 0) return;
    const bool is_script =
        of_script > 0 && (is_fenced ? of_script * 4 > of_log : of_script > of_log);
    const Kind kind = is_script ? Kind::kScript : of_log > 0 ? Kind::kLog : Kind::kUnknown;
    Section section;
    section.kind = kind;
    // A guide's own blocks (a dump that it quotes, say) are part of it.
    if (is_script) {
      sections_.erase(std::remove_if(sections_.begin(), sections_.end(),
                                     [](const Section& s) {
                                       // Commands that are shown, without what they print.
                                       if (s.kind == Kind::kCardDetails)
                                         return s.text.find(':') == s.text.npos;
                                       return s.kind == Kind::kEnvironment &&
                                              !s.is_whole_environment;
                                     }),
                      sections_.end());
      for (const std::string_view line : lines_) section.text += std::string(line) + "\n";
    } else {
      std::size_t next = 0;
      for (const std::size_t i : rest_) {
        for (; next < i; ++next) section.text += "\n";
        section.text += std::string(lines_[i]) + "\n";
        next = i + 1;
      }
    }
    sections_.push_back(std::move(section));
  }

  std::vector<std::string_view> lines_;
  std::vector<std::size_t> rest_;
  std::vector<Section> sections_;
};

}  // namespace

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::kEnvironment:
      return "environment";
    case Kind::kScript:
      return "script or guide";
    case Kind::kPackages:
      return "list of packages";
    case Kind::kSmiInfo:
      return "npu-smi info";
    case Kind::kSmiTopology:
      return "npu-smi topology";
    case Kind::kCardDetails:
      return "npu-smi or hccn_tool details";
    case Kind::kVersions:
      return "versions";
    case Kind::kRankTable:
      return "rank table";
    case Kind::kPci:
      return "lspci";
    case Kind::kClocks:
      return "clocks or firewall";
    case Kind::kReport:
      return "report of doctor";
    case Kind::kRecord:
      return "record of a run";
    case Kind::kLog:
      return "log";
    case Kind::kUnknown:
      return "unknown";
  }
  return "unknown";
}

std::string fenced_logs(std::string_view text) {
  // A traceback, or lines that begin as a logger's do: a guide that explains a message has neither.
  static const Pattern printed(
      R"(^\s*(?:\[rank\d+\]:\s*)?(?:Traceback \(most recent call last\)|\[(?:ERROR|WARNING)\] \S+\(\d+,|\[ERROR\] \d{4}-|E[A-Z]\d{4}: .*\d))");
  // A log may begin with the program that it is of.
  static const Pattern run(
      R"(^\s*(?:\[rank\d+\]:\s*)?(?:Traceback \(most recent call last\)|\[ERROR\] \S+\(\d+,))");
  const std::vector<std::string_view> lines = Lines(text).all;
  if (std::none_of(lines.begin(), lines.end(),
                   [](std::string_view line) { return line.starts_with("```"); }))
    return std::any_of(lines.begin(), lines.end(),
                       [](std::string_view line) { return matches(run, line); })
               ? std::string(text)
               : "";
  std::string logs;
  bool has_any = false;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    logs += "\n";
    if (!lines[at].starts_with("```")) continue;
    std::size_t end = at + 1;
    while (end < lines.size() && !lines[end].starts_with("```")) ++end;
    const bool is_log = std::any_of(lines.begin() + static_cast<std::ptrdiff_t>(at),
                                    lines.begin() + static_cast<std::ptrdiff_t>(end),
                                    [](std::string_view line) { return matches(printed, line); });
    has_any = has_any || is_log;
    for (std::size_t i = at + 1; i < end; ++i) logs += (is_log ? std::string(lines[i]) : "") + "\n";
    if (end < lines.size()) logs += "\n";
    at = end;
  }
  return has_any ? logs : "";
}

std::vector<Section> recognize(std::string_view text) {
  text = without_byte_order_mark(text);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return {};
  if (text[first] == '{' || text[first] == '[')
    if (auto sections = recognize_json(text); !sections.empty()) return sections;
  return Recognizer(text).run();
}

}  // namespace nb::doctor
