#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/json_io.hpp"
#include "harness/base/visible_text.hpp"
#include "harness/doctor/diagnosis.hpp"
#include "harness/doctor/event_numbers.hpp"

namespace nb::doctor {
namespace {

std::string said(std::string_view key, Language language, Arguments arguments = {}) {
  return sentence_of({std::string(key), std::move(arguments)}, language);
}

// "0-2, 4-7"
std::string ranges(const std::vector<std::string>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    const auto first = number_of(ranks[i]);
    std::size_t end = i + 1;
    while (first && end < ranks.size() &&
           number_of(ranks[end]) == *first + static_cast<double>(end - i))
      ++end;
    text += text.empty() ? "" : ", ";
    text += end - i > 1 ? ranks[i] + "-" + ranks[end - 1] : ranks[i];
    i = end;
  }
  return text;
}

std::string meaning_of(const LogEvent& event, Language language) {
  if (event.row == nullptr)
    return said("diag.not_in_table", language,
                {{"class", language == Language::kZh ? event.meaning_zh : event.meaning}});
  return language == Language::kZh && !event.row->meaning_zh.empty() ? event.row->meaning_zh
                                                                     : event.row->meaning;
}

std::string rank_words(const std::string& rank, Language language) {
  return rank == "?" ? "" : said("diag.rank", language, {{"rank", rank}});
}

std::string times(long long count) { return count > 1 ? fmt::format(" (x {})", count) : ""; }

// What the line itself says, of one that the table does not explain.
std::string quoted(const LogEvent& event) {
  constexpr std::size_t kMost = 240;
  std::string text = visible_line(event.text);
  if (text.size() > kMost) text = utf8_text(text.substr(0, kMost)) + " …";
  return fmt::format("  {}:{}: {}\n", event.file, event.line, text);
}

std::string root_line(const Root& root, const Diagnosis& diagnosis, Language language) {
  std::string where = rank_words(root.event.rank, language);
  if (root.event.time_ns) where += (where.empty() ? "" : ", ") + time_text(*root.event.time_ns);
  if (!root.event.file.empty() && root.event.line > 0 && !root.event.text.empty())
    where += fmt::format("{}{}:{}", where.empty() ? "" : ", ", root.event.file, root.event.line);
  std::string text;
  if (!diagnosis.why.empty() && root.event.text.empty()) {
    text = fmt::format("{} {}", said("diag.root", language), where);
  } else {
    text = fmt::format(
        "{} {}{}{}: {}", said("diag.root", language), where, where.empty() ? "" : ", ",
        root.event.code,
        root.verdict ? sentence_of(*root.verdict, language) : meaning_of(root.event, language));
  }
  for (const auto& [name, value] : root.numbers) {
    std::string shown = name;
    std::replace(shown.begin(), shown.end(), '_', ' ');
    text += fmt::format("; {} {}", shown, value);
  }
  return text +
         fmt::format("    {}\n", said("diag." + std::string(name(diagnosis.confidence)), language));
}

Json event_json(const LogEvent& event) {
  return {{"rank", event.rank == "?" ? Json(nullptr) : Json(event.rank)},
          {"time", event.time_ns ? Json(time_text(*event.time_ns)) : Json(nullptr)},
          {"signature", utf8_text(event.code)},
          {"in_table", event.row != nullptr},
          {"role", std::string(name(event.role))},
          {"meaning", event.row == nullptr ? event.meaning : event.row->meaning},
          {"file", utf8_text(event.file)},
          {"line", event.line},
          {"text", utf8_text(event.text.substr(0, 512))},
          {"count", event.count}};
}
Json numbers_json(const Arguments& numbers) {
  Json json = Json::object();
  for (const auto& [name, value] : numbers) json[name] = utf8_text(value);
  return json;
}

}  // namespace

std::string text_of(const Diagnosis& diagnosis, Language language) {
  std::string text;
  for (const Root& root : diagnosis.roots) {
    text += root_line(root, diagnosis, language);
    if (root.event.row == nullptr && !root.event.text.empty()) text += quoted(root.event);
  }
  for (const Said& why : diagnosis.why) text += "  " + sentence_of(why, language) + "\n";
  for (const Link& link : diagnosis.chain) {
    const std::string ranks = ranges(link.ranks);
    std::string line =
        "  " + said("diag.then", language) + " " +
        (ranks == "?" ? "" : said("diag.ranks", language, {{"ranks", ranks}}) + ": ") +
        link.event.code;
    for (const auto& [name, value] : numbers_of(link.event))
      if (name == "peer" || name == "remote_rank") line += fmt::format(" ({} {})", name, value);
    if (link.after_s) line += fmt::format(" {:+.1f} s", *link.after_s);
    if (!link.equals.empty()) line += " = " + link.equals;
    text += line + times(link.event.count) + "\n";
  }
  for (const Root& root : diagnosis.roots) {
    if (root.event.row == nullptr) continue;
    const bool is_zh = language == Language::kZh && !root.event.row->remedy_zh.empty();
    const std::string& check = is_zh ? root.event.row->check_first_zh : root.event.row->check_first;
    const std::string& remedy = is_zh ? root.event.row->remedy_zh : root.event.row->remedy;
    if (!check.empty()) text += fmt::format("{} {}\n", said("diag.look", language), check);
    const std::string verdict_remedy = root.verdict ? remedy_of(*root.verdict, language) : "";
    const std::string& first = verdict_remedy.empty() ? remedy : verdict_remedy;
    if (!first.empty())
      text += said("diag.first", language, {{"remedy", first}, {"code", root.event.code}}) + "\n";
    if (!root.event.row->what_worked.empty())
      text += fmt::format("  {} ({})\n", root.event.row->what_worked, root.event.row->source);
    break;  // several roots at once: the first's
  }
  for (const LogEvent& event : diagnosis.unmatched) {
    if (std::any_of(diagnosis.roots.begin(), diagnosis.roots.end(), [&](const Root& root) {
          return root.event.code == event.code && root.event.line == event.line;
        }))
      continue;
    if (event.naming >= Naming::kException && !diagnosis.roots.empty()) continue;
    const std::string rank = rank_words(event.rank, language);
    text += fmt::format("{}{}{}{}: {}\n", event.code, rank.empty() ? "" : " ", rank,
                        times(event.count), meaning_of(event, language));
    text += quoted(event);
  }
  for (const LogEvent& event : diagnosis.warnings)
    text += fmt::format("{} {}{}: {}\n", said("diag.warning", language), event.code,
                        times(event.count), meaning_of(event, language));
  if (!diagnosis.missing_ranks.empty())
    text += said("diag.missing", language, {{"ranks", ranges(diagnosis.missing_ranks)}}) + "\n";
  return text;
}

Json json_of(const Diagnosis& diagnosis, Language language) {
  Json json = {{"root", nullptr},
               {"other_roots", Json::array()},
               {"confidence", std::string(name(diagnosis.confidence))},
               {"chain", Json::array()},
               {"why", Json::array()},
               {"remedy", nullptr},
               {"unmatched", Json::array()},
               {"warnings", Json::array()},
               {"missing_ranks", diagnosis.missing_ranks}};
  for (std::size_t i = 0; i < diagnosis.roots.size(); ++i) {
    const Root& root = diagnosis.roots[i];
    Json one = event_json(root.event);
    one["numbers"] = numbers_json(root.numbers);
    if (root.verdict) {
      one["verdict"] = root.verdict->key;
      one["verdict_numbers"] = numbers_json(root.verdict->arguments);
      one["sentence"] = sentence_of(*root.verdict, language);
    }
    if (i == 0) {
      if (root.event.row != nullptr) json["remedy"] = root.event.row->remedy;
      json["root"] = std::move(one);
    } else {
      json["other_roots"].push_back(std::move(one));
    }
  }
  for (const Link& link : diagnosis.chain)
    json["chain"].push_back({{"ranks", link.ranks},
                             {"signature", link.event.code},
                             {"numbers", numbers_json(numbers_of(link.event))},
                             {"after_s", optional_json(link.after_s)},
                             {"equals", link.equals.empty() ? Json(nullptr) : Json(link.equals)},
                             {"count", link.event.count}});
  for (const Said& why : diagnosis.why) json["why"].push_back(sentence_of(why, language));
  for (const LogEvent& event : diagnosis.unmatched) json["unmatched"].push_back(event_json(event));
  for (const LogEvent& event : diagnosis.warnings) json["warnings"].push_back(event_json(event));
  return json;
}

}  // namespace nb::doctor
