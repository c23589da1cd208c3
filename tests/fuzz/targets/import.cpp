// results/import: one target a format of import_formats(), read without its recogniser, which any
// change at the beginning would not pass; and the doors themselves.
#include <cctype>
#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"
#include "results/foreign/json_slices.hpp"
#include "results/foreign/lines.hpp"
#include "results/foreign/text_stream.hpp"
#include "results/import/any_foreign.hpp"
#include "results/import/builder.hpp"
#include "results/import/looks_like.hpp"
#include "results/import/to_records.hpp"
#include "results/import/zip_entries.hpp"
#include "tests/fuzz/scratch.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/results/import/format_corpus.hpp"
#include "tests/results/import/make_zip.hpp"
#include "tests/results/import/packed_text.hpp"

namespace nb::test {
namespace {

namespace fs = std::filesystem;

// "import.lm_evaluation_harness_results"
std::string target_name(std::string_view format) {
  std::string name;
  for (const char c : format) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!name.ends_with('_'))
      name += '_';
  }
  while (name.ends_with('_')) name.pop_back();
  return "import." + name;
}

Result<void> read_as(const ImportFormat& format, const fs::path& path) {
  ForeignBuilder builder;
  std::size_t texts = 0;
  builder.look([&](const ForeignRun&, std::span<const SeriesValue>, const ForeignItem& item) {
    texts += item.response.size();
  });
  NB_TRY_VOID(format.read(path, builder));
  records_of(builder.finish());
  return {};
}

FuzzTarget format_target(const ImportFormat& format) {
  FuzzTarget target;
  target.name = target_name(format.name);
  target.reads = format.name;
  std::vector<std::string> seeds;
  fs::path path = fs::path(target.name) / "f";
  for (const CorpusFile& file : format_corpus()) {
    if (file.format != format.name) continue;
    if (seeds.empty()) path = fs::path(target.name) / file.name;
    seeds.push_back(file.bytes);
  }
  target.seeds = [seeds] { return seeds; };
  target.fuzz_one = [&format, path](std::string_view bytes) {
    return read_as(format, scratch_file(path, bytes));
  };
  return target;
}

Result<void> fuzz_any(std::string_view bytes) {
  const fs::path path = scratch_file("import.any/m/f.txt", bytes);
  const auto read = read_any_foreign(path);
  if (!read) return tl::unexpected(read.error());
  records_of(*read);
  return {};
}

// Of all formats but those that are known by their file's name, or hold no scores.
std::vector<std::string> any_seeds() {
  std::vector<std::string> seeds;
  for (const CorpusFile& file : format_corpus())
    if (fuzz_any(file.bytes)) seeds.push_back(file.bytes);
  return seeds;
}

Result<void> fuzz_looks_like(std::string_view bytes) {
  return looks_like(scratch_file("looks_like/f", bytes)) ? Result<void>{}
                                                         : bad_input("nothing known");
}

Result<void> fuzz_zip(std::string_view bytes) {
  NB_TRY(const ZipReader zip, ZipReader::open(scratch_file("zip/f.zip", bytes)));
  for (const ZipEntry& entry : zip.entries()) {
    NB_TRY(const std::string text, zip.read(entry));
  }
  return {};
}

// Lines of texts, each an entry of an archive that is made around them.
Result<void> fuzz_inside_eval(std::string_view bytes) {
  static const ImportFormat* const kFormat = [] {
    for (const ImportFormat& format : import_formats())
      if (format.name == std::string_view("inspect_ai log (.eval)")) return &format;
    return static_cast<const ImportFormat*>(nullptr);
  }();
  std::vector<ZipFile> files;
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', begin), bytes.size());
    const std::string number = std::to_string(files.size());
    files.push_back({files.empty() ? "header.json" : "samples/" + number + "_epoch_1.json",
                     std::string(bytes.substr(begin, end - begin)), 0});
    begin = end + 1;
  }
  return read_as(*kFormat, scratch_file("import.inside_eval/log.eval", zip_of(files)));
}

// A text as it is, packed, and in UTF-16: read to its end in small pieces.
Result<void> fuzz_text_stream(std::string_view bytes) {
  const std::string text(bytes);
  for (const std::string& file : {text, gzip_of(text), "\xFF\xFE" + text, "\xFE\xFF" + text}) {
    NB_TRY(TextStream stream, TextStream::open(scratch_file("text_stream/f", file)));
    char buffer[64];
    for (std::size_t size = 1; size > 0;) {
      auto read = stream.read(buffer, sizeof buffer);
      if (!read) return tl::unexpected(read.error());
      size = *read;
    }
  }
  return {};
}

Result<void> fuzz_json_lines(std::string_view bytes) {
  const fs::path path = scratch_file("json_lines/f.jsonl", bytes);
  std::string cut;
  const auto take = [](const Json&, const std::string&) { return Result<void>{}; };
  const auto lenient = for_each_json_line(path, take, NotNumbers::kAsTexts, &cut);
  const auto strict = for_each_json_line(path, take);
  NB_CHECK(lenient || !strict, "[json_lines] refused where nothing is allowed to be odd alone");
  return lenient ? strict : lenient;
}

Result<void> fuzz_json_slices(std::string_view bytes) {
  NB_TRY_VOID(for_each_slice(bytes, "f", [](const JsonSlice& member) -> Result<void> {
    NB_TRY(const Json value, parse_slice(member.text, "f: /" + member.key));
    return {};
  }));
  const auto members = slices_of(bytes, "f");  // where it is an object
  return {};
}

}  // namespace

void add_import_targets(FuzzTargets& targets) {
  for (const ImportFormat& format : import_formats()) targets.push_back(format_target(format));
  targets.push_back({"import.any", "any file that compare takes", "", fuzz_any, any_seeds});
  targets.push_back(
      {"import.inside_eval", "header and samples of inspect_ai's archives",
       "an archive is made around the texts", fuzz_inside_eval, [] {
         return std::vector<std::string>{
             R"({"version": 3, "status": "success", "eval": {"created": "2026", "task": "quiz", "model": "vllm/a"}, "results": {"scorer": {"name": "match"}, "metrics": {"accuracy": {"value": 1.0}}}})"
             "\n"
             R"({"id": 1, "epoch": 1, "input": "Q", "target": "t", "scores": {"match": {"value": "C"}}})"};
       }});
  targets.push_back({"looks_like", "files that hold no results", "", fuzz_looks_like,
                     [] { return std::vector<std::string>{"%PDF-1.7\n"}; }});
  targets.push_back({"zip", "ZIP archives", "", fuzz_zip, [] {
                       return std::vector<std::string>{zip_of(
                           {{"a.json", "{}", 0}, {"b/c.json", "[1]", 8}, {"d", "text", 93}})};
                     }});
  targets.push_back({"text_stream", "texts packed by gzip, or in UTF-16", "packed here",
                     fuzz_text_stream,
                     [] { return std::vector<std::string>{"text of even length."}; }});
  targets.push_back({"json_lines", "JSONL of other harnesses", "", fuzz_json_lines,
                     [] { return std::vector<std::string>{"{\"a\": 1}\n\n{\"b\": [\"c\"]}\n"}; }});
  targets.push_back({"json_slices", "large JSON of other harnesses", "", fuzz_json_slices, [] {
                       return std::vector<std::string>{
                           R"({"a": {"b": [1, "}"]}, "c": NaN, "d": "\"x"})", "[[1], {}, \"]\"]"};
                     }});
}

}  // namespace nb::test
