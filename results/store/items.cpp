#include "results/store/items.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "harness/base/file_name.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "results/store/item_lines.hpp"
#include "results/store/short_number.hpp"

namespace nb {
namespace {

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; });
}

// prefix: with the key and its colon.
void append_text(std::string_view prefix, const std::string& text, std::string& line) {
  line += prefix;
  if (!is_plain(text)) {
    line += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
    return;
  }
  line += '"';
  line += text;
  line += '"';
}

// Written by hand: nlohmann would print a float's double expansion (17 digits), three times the
// bytes.
Result<void> append_line(const ItemRecord& item, std::string& line) {
  if (item.id.empty()) return run_error("an item has no id");
  const auto add = [&](std::string_view prefix, const std::string& text) {
    append_text(prefix, text, line);
  };
  add("{\"i\":", item.id);
  line += item.ok ? ",\"o\":1" : ",\"o\":0";
  add(",\"p\":", item.prediction);
  add(",\"g\":", item.gold);
  if (!item.prompt_hash.empty()) add(",\"h\":", item.prompt_hash);
  for (std::size_t i = 0; i < item.log_probs.size(); ++i) {
    if (!std::isfinite(item.log_probs[i]))
      return run_error(fmt::format("item {}: log-probability is not finite", item.id));
    line += i == 0 ? ",\"l\":[" : ",";
    append_short_number(item.log_probs[i], line);
  }
  if (!item.log_probs.empty()) line += ']';
  if (item.cut_tokens > 0) line += fmt::format(",\"c\":{}", item.cut_tokens);
  if (!item.sample_ok.empty()) line += fmt::format(",\"s\":[{}]", fmt::join(item.sample_ok, ","));
  for (std::size_t i = 0; i < item.texts.size(); ++i) add(i == 0 ? ",\"t\":[" : ",", item.texts[i]);
  if (!item.texts.empty()) line += ']';
  if (item.loss)  // the double as it is: what is read again gives the same sums
    line += fmt::format(",\"n\":[{},{},{}]", item.loss->nats, item.loss->tokens, item.loss->bytes);
  if (!item.reason.empty()) add(",\"r\":", item.reason);
  if (item.value) {
    if (!std::isfinite(*item.value))
      return run_error(fmt::format("item {}: its value is not finite", item.id));
    line += fmt::format(",\"v\":{}", *item.value);
  }
  if (!item.doc_hash.empty()) add(",\"d\":", item.doc_hash);
  if (!item.source_id.empty()) add(",\"x\":", item.source_id);
  line += "}\n";
  return {};
}

}  // namespace

Result<ItemRecord> parse_item(std::string_view line, const std::string& where) {
  NB_TRY(const Json json, parse_json_line(line, where));
  const auto bad = [&](const std::string& what) { return bad_input(where + ": " + what); };
  if (!json.is_object()) return bad("the line is not an object");
  ItemRecord item;
  bool has_ok = false;
  for (const auto& [key, value] : json.items()) {
    if (key == "o") {
      if (!value.is_number_integer() || (value != 0 && value != 1))
        return bad("\"o\" is neither 0 nor 1");
      item.ok = value == 1;
      has_ok = true;
    } else if (key == "l") {
      if (!value.is_array()) return bad("\"l\" is not a list");
      for (const Json& number : value) {
        if (!number.is_number()) return bad("\"l\" contains something that is not a number");
        item.log_probs.push_back(number.get<float>());
      }
    } else if (key == "v") {
      if (!value.is_number()) return bad("\"v\" is not a number");
      item.value = value.get<double>();
    } else if (key == "c") {
      if (!value.is_number_unsigned()) return bad("\"c\" is not a count");
      item.cut_tokens = value.get<std::int64_t>();
    } else if (key == "s") {
      if (!value.is_array()) return bad("\"s\" is not a list");
      for (const Json& ok : value) {
        if (!ok.is_number_integer() || (ok != 0 && ok != 1))
          return bad("\"s\" contains something that is neither 0 nor 1");
        item.sample_ok.push_back(ok.get<int>());
      }
    } else if (key == "n") {
      const bool is_loss = value.is_array() && value.size() == 3 && value[0].is_number() &&
                           value[1].is_number_unsigned() && value[2].is_number_unsigned();
      if (!is_loss) return bad("\"n\" is not nats, tokens and bytes");
      item.loss = TextLoss{value[0].get<double>(), value[1].get<std::int64_t>(),
                           value[2].get<std::int64_t>()};
    } else if (key == "t") {
      if (!value.is_array()) return bad("\"t\" is not a list");
      for (const Json& text : value) {
        if (!text.is_string()) return bad("\"t\" contains something that is not a string");
        item.texts.push_back(text.get<std::string>());
      }
    } else {
      std::string* target = key == "i"   ? &item.id
                            : key == "h" ? &item.prompt_hash
                            : key == "p" ? &item.prediction
                            : key == "g" ? &item.gold
                            : key == "r" ? &item.reason
                            : key == "d" ? &item.doc_hash
                            : key == "x" ? &item.source_id
                                         : nullptr;
      if (target == nullptr) return bad("unknown key \"" + key + "\"");
      if (!value.is_string()) return bad("\"" + key + "\" is not a string");
      *target = value.get<std::string>();
    }
  }
  if (item.id.empty()) return bad("the item has no id");
  if (!has_ok) return bad("the item does not say whether it was right");
  return item;
}

Result<void> for_each_item_line(const PackedItems& items,
                                const std::function<void(std::string_view line)>& take) {
  if (const auto twice = repeated_item(items))
    return run_error(
        fmt::format("item {} appears twice; an item is scored once", items[*twice].id));
  std::string line;
  for (const ItemRecord& item : items) {
    line.clear();
    NB_TRY_VOID(append_line(item, line));
    take(line);
  }
  return {};
}

Result<std::string> items_text(const std::vector<ItemRecord>& items) {
  std::string text;
  NB_TRY_VOID(for_each_item_line(PackedItems(items), [&](std::string_view line) { text += line; }));
  return text;
}

std::optional<std::size_t> repeated_item(const PackedItems& items) {
  // Hashes of the ids, sorted, take an eighth of a set of them; equal ones are looked at.
  std::vector<std::size_t> hashes(items.size());
  for (std::size_t i = 0; i < items.size(); ++i)
    hashes[i] = std::hash<std::string_view>()(items.id_key(i));
  std::sort(hashes.begin(), hashes.end());
  if (std::adjacent_find(hashes.begin(), hashes.end()) == hashes.end()) return std::nullopt;
  std::unordered_set<std::string_view> ids;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (!ids.insert(items.id_key(i)).second) return i;
  return std::nullopt;
}

Result<void> write_items(const fs::path& path, const std::vector<ItemRecord>& items) {
  NB_TRY(const std::string text, items_text(items), path.string());
  return write_file(path, text);
}

Result<std::vector<ItemRecord>> read_items(const fs::path& path) {
  NB_TRY(const std::string text, read_file(path));
  return parse_items(text, path.string());
}

Result<std::vector<ItemRecord>> parse_items(std::string_view text, const std::string& file) {
  if (text.empty()) return bad_input(file + ": has no items");
  if (text.back() != '\n') return bad_input(file + ": the last line is truncated; evaluate again");
  std::vector<ItemRecord> items;
  std::unordered_set<std::string> ids;
  int line_number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string where = fmt::format("{}:{}", file, ++line_number);
    NB_TRY(ItemRecord item, parse_item(text.substr(begin, end - begin), where));
    if (!ids.insert(item.id).second)
      return bad_input(fmt::format("{}: item {} appears twice", where, item.id));
    items.push_back(std::move(item));
    begin = end + 1;
  }
  return items;
}

std::string items_file(const std::string& task) {
  if (task.empty()) return "items.jsonl";
  return "items/" + plain_file_name(task) + ".jsonl";
}

}  // namespace nb
