// Collects what readers find, piece by piece, so that a file of any size passes through little
// memory: of an item's texts only hashes stay, unless someone looks. Not thread-safe.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"
#include "results/foreign/foreign.hpp"
#include "results/foreign/lines.hpp"

namespace nb {

// One scored item as its source has it. Texts may be views into the reader's buffer: they are
// hashed before add_item returns.
struct ForeignItem {
  std::string
      source_id;  // as the source names it: "17", "Level 3/12"; unique in its series and epoch
  std::int64_t epoch = 1;  // of several samples of one item, from 1: their mean is the item's value
  std::string doc_hash;    // the source's own hash of the document; empty: none
  // What makes it this item: question, choices, reference answer. Items of two sources pair by it
  // where they have no hashes in common. Empty: the source names items by id alone.
  std::string content;
  std::string prompt;      // as the model saw it, or the source's hash of it; empty: not there
  std::string gold;        // reference answer or index of the right choice
  std::string prediction;  // extracted answer or index of the chosen one
  std::string response;    // what the model said, whole; not kept
  // For those who look, not kept: the prompt as a text where `prompt` is its hash, the question
  // without examples, the choices. What costs time is filled where is_looked_at() alone.
  std::string prompt_text = {}, question = {};
  std::vector<std::string> choices = {};
  std::vector<float> log_probs;  // one a choice, in their order; left out where one is infinite
  std::string reason;            // why it has no score of its own: "no answer", "error: …"
};

// The value of one item in one series: 1 right, 0 wrong, or a fraction.
struct SeriesValue {
  SeriesName series;
  double value = 0;
};

// Of the answers so many may lack a score before what is left is called a part of the whole. Below
// it the two sides can differ by less than that, whatever was left out.
inline constexpr double kMissingShare = 0.05;

class ForeignBuilder {
 public:
  ForeignBuilder();
  ~ForeignBuilder();
  ForeignBuilder(const ForeignBuilder&) = delete;
  ForeignBuilder& operator=(const ForeignBuilder&) = delete;

  // Called for every item with its texts, before they are dropped: for `show` and `--flips`.
  using Look =
      std::function<void(const ForeignRun&, std::span<const SeriesValue>, const ForeignItem&)>;
  // names: of the items that are asked for alone; empty: all. Readers may leave out rows that
  // may_be_wanted() says no of.
  void look(Look look, std::vector<std::string> names = {});
  bool is_looked_at() const;
  // An item of these names may stand in the text of this row. Cheap, before it is parsed: true for
  // many others, and for all where nobody looks.
  bool may_be_wanted(std::string_view row) const;
  // The same by the members of the row that name it: {"doc_id"}. Of a text all of whose words may
  // be names the other one says yes too often.
  bool may_be_wanted(std::string_view row, std::initializer_list<std::string_view> keys) const;

  // The run of that harness, model and stage; the same names give the same run. The reference holds
  // until finish(). Facts that a second file states again must be equal or are noted.
  ForeignRun& run(std::string_view harness, std::string_view model, std::string_view stage = "");
  // A run of this file alone, though other files may tell of the same model: results that people
  // collect or write by hand, one file per run. model: empty where the file names none; the file's
  // name is not one ("gpu.csv"). `label`: the file's name without its endings, and the section
  // where one file holds several runs; it tells runs apart (tell_apart).
  ForeignRun& file_run(std::string_view harness, std::string_view model, std::string_view stage,
                       const std::filesystem::path& file, const std::string& label);
  // The run is what a harness printed: it is left out, with a sentence, where the files of the same
  // run beside it say the same.
  void printed(const ForeignRun& run);
  // Sets provenance[key]; an empty value is left out. Where the run already says another value, the
  // first stays and a note names both.
  void say(ForeignRun& run, const std::string& key, const std::string& value);
  // The series of that name, made on first use.
  ForeignSeries& series(ForeignRun& run, const SeriesName& name);
  // nullptr: the run has none of that name. It holds until the next call of series().
  ForeignSeries* find_series(ForeignRun& run, const SeriesName& name);
  // Those of a task, in the run's order: at once, however many series the run has.
  std::vector<ForeignSeries*> series_of_task(ForeignRun& run, const std::string& task);
  // A sentence of the run's notes, once.
  void note(ForeignRun& run, Sentence sentence);

  // Several files may state one task of a run: the one of the latest stamp (texts that sort by
  // time; equal ones belong together) counts. False: this one is older and to be left out. What an
  // older one left is dropped. Either way a note names both files.
  bool is_latest(ForeignRun& run, const std::string& task, const std::string& stamp,
                 const std::filesystem::path& file);

  // where: "file:line". Errors: the same source_id and epoch twice in one series, a value that is
  // not finite. `values` must not be empty.
  Result<void> add_item(ForeignRun& run, std::span<const SeriesValue> values,
                        const ForeignItem& item, const std::string& where);
  void ignore(Sentence sentence);

  // A JSON file that many readers look at, as a hundred samples files at the results of their run:
  // parsed once, as read_foreign_json does it. Large ones are not kept.
  Result<std::shared_ptr<const Json>> shared_json(const std::filesystem::path& path,
                                                  NotNumbers not_numbers = NotNumbers::kRefused);

  // Epochs become one item with their mean; documents that occur several times in one series are
  // numbered; ids are set (below); runs are sorted.
  // What a series' file does not say of its metric is taken from metric_kinds.hpp. Ends the
  // builder.
  ForeignResults finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Sets needs_label where several runs of files have the same harness, model and stage. For those
// who put runs of several builders together; finish() has done it for its own.
void tell_apart(std::vector<ForeignRun>& runs);

// What finish() makes of an item: ItemRecord.id is a hash of its content, where there is none of
// doc_hash, where there is none of source_id; of equal ones the k-th (in order of source_id) hashes
// k too. ok: value == 1. ItemRecord.value is set in series where any item is neither 0 nor 1.
// Texts that differ by white space alone are the same content.
std::string content_hash(std::string_view content);  // 16 hex digits

}  // namespace nb
