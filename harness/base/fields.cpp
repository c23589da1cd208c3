#include "harness/base/fields.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "harness/base/check.hpp"
#include "harness/base/table.hpp"

namespace nb {

namespace {

template <class T>
constexpr bool kIsNumber = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

// "file: /json/pointer", grown as the walk goes down.
class Place {
 public:
  explicit Place(const std::string& where) : file_(where) {
    // The caller may itself stand inside a file: "suites/a.json: /train".
    if (const auto split = where.rfind(": /"); split != where.npos) {
      file_ = where.substr(0, split);
      pointer_ = where.substr(split + 2);
    }
  }
  Place at(std::string_view key) const {
    Place inner = *this;
    inner.pointer_ += '/';
    for (const char c : key) {
      if (c == '~')
        inner.pointer_ += "~0";
      else if (c == '/')
        inner.pointer_ += "~1";
      else
        inner.pointer_ += c;
    }
    return inner;
  }
  Place at(std::size_t index) const { return at(std::to_string(index)); }
  tl::unexpected<Error> fails(const std::string& sentence) const {
    const std::string pointer = pointer_.empty() ? "/" : pointer_;
    return bad_input(file_.empty() ? fmt::format("{}: {}", pointer, sentence)
                                   : fmt::format("{}: {}: {}", file_, pointer, sentence));
  }

 private:
  std::string file_;
  std::string pointer_;
};

// What stands there, for "expected …, found …".
std::string found(const Json& json) {
  switch (json.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::boolean:
      return json.get<bool>() ? "true" : "false";
    case Json::value_t::string: {
      const auto& text = json.get_ref<const std::string&>();
      return text.size() > 60 ? "a long string" : fmt::format("the string \"{}\"", text);
    }
    case Json::value_t::array:
      return "a list";
    case Json::value_t::object:
      return "an object";
    default:
      return "the number " + json.dump();
  }
}

template <class T>
std::string type_words() {
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  if constexpr (std::is_same_v<T, double>) return "a number";
  if constexpr (std::is_same_v<T, std::uint64_t>) return "an integer of 0 or more";
  if constexpr (std::is_integral_v<T>) return "an integer";
  return "a string";
}

Result<void> check_number(double value, const FieldRules& rules, const Place& place) {
  const std::string unit = rules.unit.empty() ? "" : " " + rules.unit;
  if (rules.min && !(value >= *rules.min))
    return place.fails(fmt::format("{}{} is below the minimum {}{}", number_text(value), unit,
                                   number_text(*rules.min), unit));
  if (rules.max && !(value <= *rules.max))
    return place.fails(fmt::format("{}{} is above the maximum {}{}", number_text(value), unit,
                                   number_text(*rules.max), unit));
  return {};
}

Result<void> check_one_of(const std::string& text, const std::vector<std::string>& allowed,
                          const Place& place) {
  if (allowed.empty() || std::find(allowed.begin(), allowed.end(), text) != allowed.end())
    return {};
  return place.fails(fmt::format("\"{}\" is not one of {}{}", text, fmt::join(allowed, ", "),
                                 did_you_mean(text, allowed)));
}

Result<void> parse_value(bool* value, const Json& json, const FieldRules&, const Place& place) {
  if (!json.is_boolean())
    return place.fails(fmt::format("expected true or false, found {}", found(json)));
  *value = json.get<bool>();
  return {};
}

template <class T>
requires kIsNumber<T> Result<void> parse_value(T* value, const Json& json, const FieldRules& rules,
                                               const Place& place) {
  const auto wrong = [&] {
    return place.fails(fmt::format("expected {}, found {}", type_words<T>(), found(json)));
  };
  if constexpr (std::is_same_v<T, double>) {
    if (!json.is_number()) return wrong();
    *value = json.get<double>();
  } else {
    const bool is_negative =
        json.is_number_integer() && !json.is_number_unsigned() && json.get<std::int64_t>() < 0;
    if (!json.is_number_integer() || (is_negative && std::is_unsigned_v<T>)) return wrong();
    using Limits = std::numeric_limits<T>;
    if (is_negative && std::cmp_less(json.get<std::int64_t>(), Limits::min()))
      return place.fails(json.dump() + " is too small for this setting");
    if (!is_negative && std::cmp_greater(json.get<std::uint64_t>(), Limits::max()))
      return place.fails(json.dump() + " is too large for this setting");
    *value = json.get<T>();
  }
  return check_number(static_cast<double>(*value), rules, place);
}

Result<void> parse_value(std::string* value, const Json& json, const FieldRules& rules,
                         const Place& place) {
  if (!json.is_string())
    return place.fails(fmt::format("expected a string, found {}", found(json)));
  *value = json.get<std::string>();
  return check_one_of(*value, rules.one_of, place);
}

template <class T>
Result<void> parse_value(std::optional<T>* value, const Json& json, const FieldRules& rules,
                         const Place& place) {
  if (json.is_null()) {
    value->reset();
    return {};
  }
  T inner{};
  NB_TRY_VOID(parse_value(&inner, json, rules, place));
  *value = std::move(inner);
  return {};
}

template <class T>
Result<void> parse_value(std::vector<T>* value, const Json& json, const FieldRules& rules,
                         const Place& place) {
  if (!json.is_array()) return place.fails(fmt::format("expected a list, found {}", found(json)));
  value->clear();
  for (std::size_t i = 0; i < json.size(); ++i) {
    T element{};
    NB_TRY_VOID(parse_value(&element, json[i], rules, place.at(i)));
    value->push_back(std::move(element));
  }
  return {};
}

template <class T>
Result<void> parse_value(std::map<std::string, T>* value, const Json& json, const FieldRules& rules,
                         const Place& place) {
  if (!json.is_object())
    return place.fails(fmt::format("expected an object, found {}", found(json)));
  value->clear();
  for (const auto& [key, member] : json.items())
    NB_TRY_VOID(parse_value(&(*value)[key], member, rules, place.at(key)));
  return {};
}

Result<void> parse_list(const FieldList& fields, const Json& json, const Place& place);

Result<void> parse_value(const ObjectRef& ref, const Json& json, const Place& place) {
  if (json.is_null() && ref.present && !ref.present()) return {};
  if (!json.is_object())
    return place.fails(fmt::format("expected an object, found {}", found(json)));
  if (ref.create) ref.create();
  return parse_list(ref.fields(), json, place);
}

Result<void> parse_value(const ListRef& ref, const Json& json, const Place& place) {
  if (!json.is_array())
    return place.fails(fmt::format("expected a list of objects, found {}", found(json)));
  ref.resize(0);  // elements start fresh
  ref.resize(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (!json[i].is_object())
      return place.at(i).fails(fmt::format("expected an object, found {}", found(json[i])));
    NB_TRY_VOID(parse_list(ref.fields_at(i), json[i], place.at(i)));
  }
  return {};
}

Result<void> parse_value(const EnumRef& ref, const Json& json, const Place& place) {
  if (!json.is_string())
    return place.fails(
        fmt::format("expected one of {}, found {}", fmt::join(ref.names, ", "), found(json)));
  const auto& text = json.get_ref<const std::string&>();
  NB_TRY_VOID(check_one_of(text, ref.names, place));
  ref.set(static_cast<std::size_t>(std::find(ref.names.begin(), ref.names.end(), text) -
                                   ref.names.begin()));
  return {};
}

Result<void> parse_field(const Field& field, const Json& json, const Place& place) {
  return std::visit(
      [&](const auto& ref) -> Result<void> {
        if constexpr (std::is_pointer_v<std::decay_t<decltype(ref)>>)
          return parse_value(ref, json, field.rules, place);
        else
          return parse_value(ref, json, place);
      },
      field.ref);
}

Result<void> parse_list(const FieldList& fields, const Json& json, const Place& place) {
  if (!json.is_object())
    return place.fails(fmt::format("expected an object, found {}", found(json)));
  std::vector<std::string> names;
  for (const Field& field : fields) {
    NB_CHECK(std::find(names.begin(), names.end(), field.name) == names.end(),
             "[fields] \"{}\" is described twice", field.name);
    names.push_back(field.name);
  }
  for (const auto& [key, ignored] : json.items()) {
    const auto is_former = [&](const Field& field) { return field.rules.former == key; };
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    if (const auto field = std::ranges::find_if(fields, is_former); field != fields.end()) {
      if (!json.contains(field->name)) continue;
      return place.at(key).fails(
          fmt::format("a former name of \"{}\", which is given too; leave one out", field->name));
    }
    const std::string hint = did_you_mean(key, names);
    return place.at(key).fails(fmt::format(
        "unknown key{}", !hint.empty()   ? hint
                         : names.empty() ? std::string("; there are none")
                                         : fmt::format("; known: {}", fmt::join(names, ", "))));
  }
  for (const Field& field : fields) {
    const std::string& key = json.contains(field.name) ? field.name : field.rules.former;
    if (const auto member = json.find(key); member != json.end() && !key.empty()) {
      NB_TRY_VOID(parse_field(field, *member, place.at(key)));
    } else if (field.rules.required) {
      return place.at(field.name).fails(fmt::format("missing ({})", field.doc));
    }
  }
  return {};
}

}  // namespace

Result<void> parse_fields(const FieldList& fields, const Json& json, const std::string& where) {
  return parse_list(fields, json, Place(where));
}

std::string flag_of(std::string_view field) {
  std::string flag = fmt::format("--{}", field);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

}  // namespace nb
