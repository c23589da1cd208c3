#include "harness/profiler/table.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/csv.hpp"
#include "harness/base/text_width.hpp"
#include "harness/base/visible_text.hpp"

namespace nb::profiler {
namespace {

std::string number_shown(double value, Unit unit) {
  switch (unit) {
    case Unit::kShare:
      return percent_text(value);
    case Unit::kMegabytes:
      return fmt::format("{:.2f}", value);
    case Unit::kFlop:
      return fmt::format("{:.2f} G", value / 1e9);
    case Unit::kBytes:
      return fmt::format("{:.2f} MB", value / 1e6);
    case Unit::kTflops:
    case Unit::kTbs:
    case Unit::kGbs:
    case Unit::kRatio:
      return fmt::format("{:.2f}", value);
    default:
      return number_text(value);
  }
}

std::string shown(const Cell& cell, Unit unit, Language language) {
  if (const auto* text = std::get_if<std::string>(&cell))
    return visible_line(unit == Unit::kWord ? word(*text, language) : *text);
  if (const auto* whole = std::get_if<std::int64_t>(&cell))
    return unit == Unit::kTime ? microseconds_text(*whole) : with_commas(*whole);
  if (const auto* number = std::get_if<double>(&cell)) return number_shown(*number, unit);
  return "";
}

// Names of kernels are hundreds of characters long; JSON and CSV have them whole.
constexpr std::size_t kTextColumns = 32;

std::string cut(std::string text) {
  if (text.size() <= kTextColumns || !is_utf8(text)) return text;
  std::size_t end = kTextColumns - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

}  // namespace

std::string microseconds_text(std::int64_t time_ns) {
  const std::int64_t size = std::abs(time_ns);
  return fmt::format("{}{}.{:03}", time_ns < 0 ? "−" : "", with_commas(size / 1000), size % 1000);
}
std::string milliseconds_text(std::int64_t time_ns, int decimals) {
  return fmt::format("{:.{}f}", static_cast<double>(time_ns) / 1e6, decimals);
}
std::string percent_text(double share) { return fmt::format("{:.1f} %", share * 100); }

TextTable shown_table(const Table& table, Language language) {
  TextTable text;
  for (const Column& column : table.columns)
    if (!column.is_detail)
      text.header.push_back(word(fmt::format("column.{}", column.key), language));
  for (const auto& row : table.rows) {
    if (table.shown > 0 && text.rows.size() == table.shown) break;
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.size(); ++i)
      if (!table.columns[i].is_detail)
        cells.push_back(cut(shown(row[i], table.columns[i].unit, language)));
    text.rows.push_back(std::move(cells));
  }
  return text;
}

std::string text_of(const Table& table, Language language) {
  std::string all = word(fmt::format("table.{}", table.key), language) + "\n";
  if (!table.rows.empty()) all += to_text(shown_table(table, language), output_width());
  if (table.shown > 0 && table.rows.size() > table.shown)
    all +=
        text_of(Said{"table.more", {std::to_string(table.rows.size() - table.shown)}}, language) +
        "\n";
  for (const Said& note : table.notes) all += visible_line(text_of(note, language)) + "\n";
  return all;
}

Json json_of(const Table& table) {
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json object = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Column& column = table.columns[i];
      const std::string key = std::string(column.key) + (column.unit == Unit::kTime ? "_ns" : "");
      if (const auto* text = std::get_if<std::string>(&row[i]))
        object[key] = utf8_text(*text);
      else if (const auto* whole = std::get_if<std::int64_t>(&row[i]))
        object[key] = *whole;
      else if (const auto* number = std::get_if<double>(&row[i]);
               number != nullptr && std::isfinite(*number))
        object[key] = *number;
      else
        object[key] = nullptr;
    }
    rows.push_back(std::move(object));
  }
  return rows;
}

std::string csv_of(const Table& table) {
  std::vector<std::string> header;
  for (const Column& column : table.columns)
    header.push_back(std::string(column.key) + (column.unit == Unit::kTime ? "_ns" : ""));
  std::string text = csv_line(header) + "\n";
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (const Cell& cell : row) {
      if (const auto* words = std::get_if<std::string>(&cell))
        cells.push_back(*words);
      else if (const auto* whole = std::get_if<std::int64_t>(&cell))
        cells.push_back(std::to_string(*whole));
      else if (const auto* number = std::get_if<double>(&cell))
        cells.push_back(number_text(*number));
      else
        cells.emplace_back();
    }
    text += csv_line(cells) + "\n";
  }
  return text;
}

}  // namespace nb::profiler
