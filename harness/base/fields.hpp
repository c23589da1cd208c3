// One field list of a struct drives parse, print, hash and help. A struct describes itself once:
//
//   struct TrainSettings {
//     int depth = 2;
//     double lr = 0.02;
//     FieldList fields() { return {
//       {"depth", "layers; width is 64 × depth", &depth, {.min = 1, .max = 64}},
//       {"lr", "Muon base learning rate", &lr, {.unit = "1/step", .min = 0}}}; }
//   };
//
// Unknown keys are errors with the nearest known one; missing keys keep the member's initial value
// unless `required`. Thread-compatible; a FieldList points into its struct and must not outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"

namespace nb {

struct Field;
using FieldList = std::vector<Field>;

struct FieldRules {
  std::string unit = {};  // "ns", "byte", "tok/s"; empty for pure numbers and text
  // Inclusive, for numbers and for every element of a list of numbers.
  std::optional<double> min = {}, max = {};
  std::vector<std::string> one_of = {};  // allowed texts
  bool required = false;
  bool hashed = true;  // false: cannot change any output (threads, paths)
  // Of an optional member, a list or a map: where it is absent or empty nothing is printed or
  // hashed, instead of null, [] or {}. For settings that came later: what older files say stays as
  // it is.
  bool omits_absent = false;
  std::string former = {};  // name that files of before have; read, never printed
};

// Type-erased nested struct, list of structs, and map from name to struct.
struct ObjectRef {
  std::function<FieldList()> fields;
  std::function<bool()> present;  // for optional objects: is there one? empty: always
  std::function<void()> create;   // for optional objects: make one before parsing
};
struct ListRef {
  std::function<void(std::size_t)> resize;
  std::function<std::size_t()> size;
  std::function<FieldList(std::size_t)> fields_at;
  std::function<FieldList()> fields_of_fresh;  // for help
};
struct EnumRef {
  std::vector<std::string> names;
  std::function<std::size_t()> get;
  std::function<void(std::size_t)> set;
};

using FieldRef =
    std::variant<bool*, int*, std::int64_t*, std::uint64_t*, double*, std::string*,
                 std::optional<bool>*, std::optional<std::int64_t>*, std::optional<double>*,
                 std::optional<std::string>*, std::vector<int>*, std::vector<std::int64_t>*,
                 std::vector<std::uint64_t>*, std::vector<double>*, std::vector<std::string>*,
                 std::map<std::string, double>*, std::map<std::string, std::string>*, ObjectRef,
                 ListRef, EnumRef>;

struct Field {
  std::string name;
  std::string doc;  // one line, for --help
  FieldRef ref;
  FieldRules rules = {};
};

// Makers for nested members: {"train", "how to train", object(&train)}, {"nodes", "…",
// list(&nodes)},
// {"mode", "…", enumerated(&mode, {"eager", "compiled"})}. T needs a member FieldList fields().
template <class T>
ObjectRef object(T* member) {
  return {[member] { return member->fields(); }, {}, {}};
}
template <class T>
ObjectRef object(std::optional<T>* member) {
  // Absent members show an empty T's fields in help and print nothing.
  auto fresh = std::make_shared<T>();
  return {[member, fresh] { return member->has_value() ? (*member)->fields() : fresh->fields(); },
          [member] { return member->has_value(); }, [member] { member->emplace(); }};
}
template <class T>
ListRef list(std::vector<T>* member) {
  auto fresh = std::make_shared<T>();
  return {[member](std::size_t n) { member->resize(n); }, [member] { return member->size(); },
          [member](std::size_t i) { return (*member)[i].fields(); },
          [fresh] { return fresh->fields(); }};
}
template <class E>
EnumRef enumerated(E* member, std::vector<std::string> names) {
  return {std::move(names), [member] { return static_cast<std::size_t>(*member); },
          [member](std::size_t i) { *member = static_cast<E>(i); }};
}

// `where`: "suites/a.json" or "suites/a.json: /train"; errors read "<where>: /train/depth: …".
// On error the struct is half-set: parse into a fresh one.
Result<void> parse_fields(const FieldList& fields, const Json& json, const std::string& where);
Json print_fields(const FieldList& fields);        // every field, defaults included
Json hashed_fields(const FieldList& fields);       // print_fields without rules.hashed == false
std::string help_fields(const FieldList& fields);  // one "  name  doc (unit, range, default)" line
                                                   // each, nested indented

template <class T>
Result<T> parse_struct(const Json& json, const std::string& where) {
  T value{};
  NB_TRY_VOID(parse_fields(value.fields(), json, where));
  return value;
}
template <class T, class J = Json>  // J is a parameter only so that json_fwd.hpp suffices here
J print_struct(const T& value) {
  T copy = value;
  return print_fields(copy.fields());
}

// A field's flag on a command line: "total_batch_tokens" → "--total-batch-tokens".
std::string flag_of(std::string_view field);

// The candidate with the smallest edit distance when it is near enough to be meant; else empty.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);
// `; did you mean "x"?` or an empty string.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace nb
