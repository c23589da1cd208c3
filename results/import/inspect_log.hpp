// What an inspect_ai log says, whichever container it lies in: inspect_ai.cpp opens .eval archives
// and JSON files, this reads their header and their samples.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "results/import/builder.hpp"

namespace nb {

class InspectLog {
 public:
  // The text behind "attachment://NAME" where the sample does not hold it itself; empty: not found.
  using Attachment = std::function<Result<std::string>(const std::string& name)>;

  InspectLog(std::filesystem::path path, ForeignBuilder& builder);

  // The members version, status, eval, plan and results of the log, as they are there. First.
  Result<void> header(const std::map<std::string, std::string_view>& members,
                      const std::string& where);
  // Of the sample's members those that tell what was asked and how it was scored are parsed; most
  // of its bytes are events.
  Result<void> sample(std::string_view text, const std::string& where,
                      const Attachment& attachment);
  // The totals that the log reports, and notes. Last.
  void totals();

 private:
  ForeignRun* run();  // nullptr: another log of this task is later
  void say_settings(ForeignRun& run);
  Result<std::vector<SeriesValue>> scores_of(const Json& scores, ForeignItem& item,
                                             const std::string& where);
  void read_reducers();
  std::vector<std::string> reducers_of(const std::string& scorer) const;
  bool is_headline(const SeriesName& name) const;
  ForeignSeries& series_of(ForeignRun& run, const Json& score);
  static void be_share(ForeignSeries& series);  // right answers of all: higher is better
  void find_parts(ForeignSeries& series) const;

  std::filesystem::path path_;
  ForeignBuilder& builder_;
  Json eval_, plan_, results_;
  std::string status_, task_, headline_;
  std::string headline_reducer_;                              // "": the mean
  bool is_repeated_ = false;                                  // several epochs
  std::map<std::string, std::vector<std::string>> reducers_;  // by scorer; "": of the others
  std::set<std::string> graded_;                              // metrics with scores C, I, P, N
  ForeignRun* run_ = nullptr;
  bool is_asked_ = false;  // run() was
  std::int64_t samples_ = 0, without_scores_ = 0, failed_ = 0;
  std::map<std::string, std::int64_t> unscored_;  // by metric: values that are NaN or null
};

}  // namespace nb
