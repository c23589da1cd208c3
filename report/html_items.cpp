#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/json_io.hpp"
#include "harness/base/visible_text.hpp"
#include "report/html.hpp"
#include "report/markup.hpp"

namespace nb {
namespace {

// Without the script; and what the data may take of a page that stays below 2 MB.
constexpr std::size_t kRows = 60;
constexpr std::size_t kMaxBytes = 500'000;
constexpr std::size_t kSnippetColumns = 60;

const char* kind_key(FlipKind kind) {
  switch (kind) {
    case FlipKind::kNearTie:
      return "near";
    case FlipKind::kHard:
      return "hard";
    case FlipKind::kText:
      break;
  }
  return "text";
}

// The script shows texts as they are.
Json visible(const Json& json) {
  if (json.is_string()) return visible_text(json.get_ref<const std::string&>());
  if (!json.is_structured()) return json;
  Json safe = json;
  for (Json& member : safe) member = visible(member);
  return safe;
}

std::string dumped(const Json& json) { return visible(json).dump(); }

Json number(const std::optional<double>& value) {
  return value ? Json(std::stod(fmt::format("{:.4f}", *value))) : Json();
}
Json numbers(const std::vector<float>& values) {
  Json list = Json::array();
  for (const float value : values) list.push_back(number(value));
  return list;
}

Json group_json(const FlipGroup& group) {
  return {{"sides", group.label_a + " | " + group.label_b},
          {"a", group.pair_a},
          {"b", group.pair_b},
          {"task", group.task},
          {"same", group.same_weights},
          {"limit", number(group.limit)},
          {"show", {show_command(group, true), show_command(group, false)}}};
}

Json flip_json(const Flip& f) {
  Json json = {{"g", f.group},          {"i", f.id},      {"r", f.row}, {"lost", f.lost},
               {"k", kind_key(f.kind)}, {"gold", f.gold}, {"a", f.a},   {"b", f.b}};
  const std::string& name_b = f.name_b.source_id.empty() ? f.name_b.id : f.name_b.source_id;
  if (name_b != f.id) json["ib"] = name_b;
  if (f.margin_a) json["ma"] = number(f.margin_a);
  if (f.margin_b) json["mb"] = number(f.margin_b);
  if (!f.log_probs_a.empty()) json["la"] = numbers(f.log_probs_a);
  if (!f.log_probs_b.empty()) json["lb"] = numbers(f.log_probs_b);
  if (!f.reason_a.empty()) json["ra"] = f.reason_a;
  if (!f.reason_b.empty()) json["rb"] = f.reason_b;
  if (!f.text_a.empty()) json["ta"] = f.text_a;
  if (!f.text_b.empty()) json["tb"] = f.text_b;
  if (f.value_a) json["va"] = number(f.value_a);
  if (f.value_b) json["vb"] = number(f.value_b);
  return json;
}

// Texts of the items: an item that flips on several devices or seeds has one.
class ItemTexts {
 public:
  // Its place in json(); nothing: there is no text.
  std::optional<std::size_t> place_of(const Flip& flip, const std::string& task) {
    if (flip.text.is_empty()) return std::nullopt;
    const auto [at, is_new] = places_.try_emplace(task + "\n" + flip.name_a.id, places_.size());
    if (is_new) list_ += (places_.size() == 1 ? "" : ",\n") + dumped(text_json(flip.text));
    return at->second;
  }
  const std::string& list() const { return list_; }

 private:
  static Json text_json(const ItemText& text) {
    Json json = {{"q", cut_text(text.question)}, {"s", one_line(text, kSnippetColumns)}};
    if (text.question.empty()) json["q"] = one_line(text, kShownText);
    for (const std::string& choice : text.choices) json["c"].push_back(cut_text(choice));
    if (!text.reference.empty()) json["r"] = cut_text(text.reference);
    if (!text.warning.empty()) json["w"] = text.warning;
    return json;
  }

  std::map<std::string, std::size_t> places_;
  std::string list_;
};

Json words_json(const Words& say) {
  return {{"task", say("task")},
          {"node", say("node")},
          {"sides", say("sides_short")},
          {"weights", say("weights")},
          {"same", say("same_weights")},
          {"other", say("other_weights")},
          {"kind", say("kind_of_flip")},
          {"near", say("near_tie")},
          {"hard", say("hard")},
          {"text", say("by_text")},
          {"direction", say("direction")},
          {"lost", say("lost")},
          {"won", say("won")},
          {"search", say("search")},
          {"all", say("all")},
          {"more", say("more")},
          {"found", say("found", "{}")},
          {"gold", say("gold")},
          {"a", say("answer_a")},
          {"b", say("answer_b")},
          {"ma", say("margin_a")},
          {"mb", say("margin_b")},
          {"logProbs", say("log_probs")},
          {"open", say("open_item")},
          {"item", say("item")},
          {"question", say("question")},
          {"choices", say("choices")},
          {"reference", say("reference")},
          {"mark", say("mark")}};
}

// JSON inside a script element: "</script" and "<!--" must not occur.
std::string script_safe(const std::string& json) {
  std::string safe;
  for (const char c : json) {
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  }
  return safe;
}

std::string margin_text(const std::optional<double>& value) {
  return value ? fmt::format("{:+.3f}", *value) : "—";
}

}  // namespace

TextTable flip_table(const ItemList& list, const Words& say, std::size_t most) {
  TextTable table{{say("item"), say("node"), say("task"), say("direction"), say("kind_of_flip"),
                   say("gold"), "A", "B", say("margin_a"), say("margin_b")},
                  {}};
  for (std::size_t i = 0; i < std::min(most, list.flips.size()); ++i) {
    const Flip& f = list.flips[i];
    const FlipGroup& group = list.groups[f.group];
    const std::string snippet = one_line(f.text, kSnippetColumns);
    table.rows.push_back({snippet.empty() ? f.id : f.id + "\n" + snippet, group.pair_a, group.task,
                          say(f.lost ? Phrase("lost") : Phrase("won")),
                          f.kind == FlipKind::kNearTie ? say("near_tie")
                          : f.kind == FlipKind::kHard  ? say("hard")
                                                       : say("by_text"),
                          f.gold, f.a, f.b, margin_text(f.margin_a), margin_text(f.margin_b)});
  }
  return table;
}

std::string html_items(const ItemList& list, const Words& say, std::size_t index,
                       std::string& column_names) {
  std::string flips;
  ItemTexts texts;
  std::size_t held = 0;
  for (const Flip& flip : list.flips) {
    if (flips.size() + texts.list().size() > kMaxBytes) break;
    Json json = flip_json(flip);
    if (const auto place = texts.place_of(flip, list.groups[flip.group].task)) json["x"] = *place;
    flips += (held++ == 0 ? "" : ",\n") + dumped(json);
  }
  Json groups = Json::array();
  for (const FlipGroup& group : list.groups) groups.push_back(group_json(group));
  std::string out = "<div id=items>\n";
  if (static_cast<std::int64_t>(held) < list.count)
    out += "<p>" + markup_escaped(say("flips_left_out", held, list.count)) + "</p>\n";
  out += "<div id=items-table>\n" +
         html_table(flip_table(list, say, kRows), say("flip_items"), index, column_names);
  if (list.count > std::int64_t{kRows})
    out += "<p>" + markup_escaped(say("flips_rows_only", kRows, list.count)) + "</p>\n";
  out += "</div></div>\n<script type=\"application/json\" id=items-data>{\"words\":" +
         script_safe(dumped(words_json(say))) + ",\n\"groups\":" + script_safe(dumped(groups)) +
         ",\n\"texts\":[" + script_safe(texts.list()) + "]" + ",\n\"flips\":[" +
         script_safe(flips) + "]}</script>\n<script>" + std::string(html_script()) + "</script>\n";
  return out;
}

}  // namespace nb
