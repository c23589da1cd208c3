#include "report/report.hpp"

#include <fmt/core.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/check.hpp"
#include "harness/base/csv.hpp"
#include "harness/base/fs.hpp"
#include "report/csv_files.hpp"
#include "report/json.hpp"
#include "report/sections.hpp"
#include "results/compare/factorial.hpp"
#include "results/store/curve_columns.hpp"

namespace nb {
namespace {

constexpr std::size_t kListedFlips = 5000;  // more than the HTML has room for; flips.csv has all

// Every flip goes into `flips` too.
ReportContext context_of(const ReportInput& input, Language language, FlipsCsv& flips) {
  NB_CHECK(input.run != nullptr, "[report] no run given");
  FlipChoice choice{.most = kListedFlips};
  choice.take = [&](const FlipGroup& group, const Flip& flip) { flips.add(group, flip); };
  const Words say(language);
  ReportContext context{input,
                        say,
                        {},
                        {},
                        score_tables(input),
                        flips_of(input.comparisons, choice),
                        head_names(say, input)};
  if (input.add_texts) input.add_texts(context.flips);
  for (const StoredRecord* stored : records_of(*input.run, "train")) {
    if (is_imported(stored->record)) {
      const auto curve = stored_curve(*stored);
      if (!curve) context.unreadable.push_back(curve.error().message);
      if (curve && *curve) context.curves.push_back({stored, series_of(**curve)});
      continue;
    }
    auto series = read_series(stored->folder / "steps.csv");
    if (series)
      context.curves.push_back({stored, std::move(*series)});
    else
      context.unreadable.push_back(series.error().message);
  }
  return context;
}

SectionContent content_of(const BroughtSection& brought) {
  SectionContent content{brought.id, brought.title, {}};
  if (!brought.text.empty()) content.blocks.emplace_back(CodeBlock{brought.text});
  if (!brought.points.empty()) content.blocks.emplace_back(BulletList{brought.points});
  for (const auto& [caption, table] : brought.tables)
    content.blocks.emplace_back(TableBlock{caption, table, table.rows.size() > 12});
  return content;
}

Document document_of(const ReportContext& context) {
  const HeadNames& names = context.names;
  Document document{names.title, context.say, {}, names.subtitle};
  for (const Section& section : sections()) {
    document.sections.push_back({std::string(section.id), context.say(section.title),
                                 section.blocks(context), section.folded});
    if (section.id != "speed") continue;
    for (const BroughtSection& brought : context.input.brought)
      document.sections.push_back(content_of(brought));
  }
  return document;
}

std::vector<PlotBlock*> plots_of(Document& document) {
  std::vector<PlotBlock*> plots;
  for (SectionContent& section : document.sections)
    for (Block& block : section.blocks)
      if (auto* plot = std::get_if<PlotBlock>(&block)) plots.push_back(plot);
  return plots;
}

// A plot that fails leaves a note, not a failed report.
void draw(Document& document, const fs::path& folder, const ReportOptions& options,
          ReportFiles& files) {
  const auto plots = plots_of(document);
  if (plots.empty() || !options.plots) return;
  if (!has_gnuplot(options.gnuplot)) {
    files.notes.push_back(document.say("no_gnuplot", options.gnuplot));
    return;
  }
  for (PlotBlock* block : plots) {
    const fs::path stem = folder / block->plot.name;
    if (const auto drawn = draw_plot(block->plot, stem, options.gnuplot); !drawn) {
      files.notes.push_back(drawn.error().message);
      continue;
    }
    if (auto svg = read_file(stem.string() + ".svg")) {
      block->svg = std::move(*svg);
      files.plots.push_back(stem.string() + ".svg");
      files.plots.push_back(stem.string() + ".pdf");
    }
  }
}

// Older plots and tables would stand beside the new ones as if they belonged to them. Only what a
// report writes goes: the folder may be the user's own.
Result<void> clear(const fs::path& folder) {
  constexpr std::array<std::array<const char*, 2>, 3> kOurs = {
      {{"plots", ".svg"}, {"plots", ".pdf"}, {"csv", ".csv"}}};
  for (const auto& [name, extension] : kOurs) {
    std::error_code error;
    std::vector<fs::path> old;
    for (fs::directory_iterator at(folder / name, error), end; !error && at != end;
         at.increment(error))
      if (at->path().extension() == extension) old.push_back(at->path());
    for (const fs::path& path : old)
      if (std::error_code failed; !fs::remove(path, failed) && failed)
        return run_error(fmt::format("{}: {}", path.string(), failed.message()));
  }
  return {};
}

Result<void> write_csv(const ReportContext& context, const fs::path& folder, ReportFiles& files) {
  for (const CsvFile& file : csv_files(context)) {
    std::string text = csv_line(file.table.header) + "\n";
    for (const auto& row : file.table.rows) text += csv_line(row) + "\n";
    NB_TRY_VOID(write_file(folder / file.name, text));
    files.csv.push_back(folder / file.name);
  }
  return {};
}

}  // namespace

std::vector<Comparison> device_comparisons(
    const RunRecords& run, const std::function<bool(const std::string& device)>& is_baseline) {
  std::set<std::string> names;
  for (const StoredRecord& stored : run.records)
    if (!stored.record.device.empty() && !is_inner_arm(stored.record))
      names.insert(stored.record.device);
  std::vector<std::string> devices(names.begin(), names.end());
  if (is_baseline) std::stable_partition(devices.begin(), devices.end(), is_baseline);
  std::vector<Comparison> comparisons;
  for (std::size_t a = 0; a < devices.size(); ++a)
    for (std::size_t b = a + 1; b < devices.size(); ++b) {
      auto comparison = compare_devices(run, devices[a], devices[b]);
      if (comparison && !comparison->pairs.empty()) comparisons.push_back(std::move(*comparison));
    }
  return comparisons;
}

Result<ReportFiles> write_report(const ReportInput& input, const fs::path& folder,
                                 const ReportOptions& options) {
  NB_TRY_VOID(make_folders(folder / "csv"));
  NB_TRY_VOID(clear(folder));
  const fs::path flips_csv = folder / "csv" / "flips.csv";
  NB_TRY(FlipsCsv flips, FlipsCsv::create(flips_csv));
  const ReportContext context = context_of(input, options.language, flips);
  ReportFiles files;
  Document document = document_of(context);
  draw(document, folder / "plots", options, files);
  if (!files.notes.empty()) {
    std::vector<Block> blocks;
    for (const std::string& note : files.notes) blocks.emplace_back(Paragraph{note, true});
    auto& first = document.sections.front().blocks;
    first.insert(first.end(), blocks.begin(), blocks.end());
  }
  NB_TRY_VOID(write_csv(context, folder / "csv", files));
  if (context.flips.count > 0) {
    NB_TRY_VOID(flips.commit());
    files.csv.push_back(flips_csv);
  }
  files.markdown = folder / "report.md";
  files.html = folder / "report.html";
  NB_TRY_VOID(write_file(files.markdown, render_markdown(document)));
  files.latex = folder / "report.tex";
  files.json = folder / "report.json";
  NB_TRY_VOID(write_file(files.html, render_html(document)));
  NB_TRY_VOID(write_file(files.latex, render_latex(document)));
  NB_TRY_VOID(write_file(
      files.json,
      report_json(context, document).dump(1, ' ', false, Json::error_handler_t::replace) + "\n"));
  return files;
}

}  // namespace nb
