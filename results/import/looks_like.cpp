#include "results/import/looks_like.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "harness/base/ascii.hpp"
#include "harness/base/fs.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLooksHead = 64 * 1024, kLooksTail = 64 * 1024;  // byte
constexpr std::size_t kFiles = 200;    // of a folder that are looked at
constexpr std::size_t kLongest = 160;  // byte of a log's last line

struct Ends {
  std::string head, tail;
};

std::optional<Ends> ends_of(const fs::path& path) {
  const auto file = MappedFile::open(path);
  if (!file) return std::nullopt;
  const auto bytes = file->bytes();
  const char* const begin = reinterpret_cast<const char*>(bytes.data());
  const std::size_t head = std::min(bytes.size(), kLooksHead),
                    tail = std::min(bytes.size(), kLooksTail);
  return Ends{std::string(begin, head), std::string(begin + bytes.size() - tail, tail)};
}

// First bytes: the formats' own specifications.
struct Magic {
  std::string_view bytes;
  const char* sentence;
};
constexpr const char* kPicture =
    "an image, which is not read; give the file that it shows, or its numbers as CSV: "
    "task,accuracy,n";
constexpr const char* kWeights =
    "weights or a pickled object, no results; give the evaluation's own files, or convert a "
    "checkpoint with npubench and evaluate it";
constexpr const char* kPacked = "a packed file; unpack it and give the results that are in it";
constexpr auto kMagics = std::to_array<Magic>({
    {"\x89PNG", kPicture},
    {"\xFF\xD8\xFF", kPicture},
    {"GIF8", kPicture},
    {"%PDF", "a PDF, which is not read; give its table as CSV (task,accuracy,n) or Markdown"},
    {"\x93NUMPY", "an array of NumPy, no results; write the scores as CSV: task,accuracy,n"},
    {"PAR1", "Parquet, which is not read; write the rows as JSON lines or CSV (task,item,outcome)"},
    {"\x1F\x8B", kPacked},
    {"BZh", kPacked},
    {"\xFD"
     "7zXZ",
     kPacked},
    {"\x28\xB5\x2F\xFD", kPacked},
    {"SQLite format 3", "an SQLite database, which is not read; write its table as CSV"},
    {"\x7F"
     "ELF",
     "a program or library, no results"},
    {"GGUF", kWeights},
    {"version https://git-lfs.github.com/spec/",
     "a pointer of Git LFS, not the file itself; fetch it with git lfs pull"},
});

// Words that a kind of text file has, all of them.
struct Words {
  std::array<std::string_view, 3> words;  // empty ones count for nothing
  const char* sentence;
};
constexpr const char* kProfile =
    "a profile of a run, no scores; give the training's log for its losses and speed";
constexpr auto kWords = std::to_array<Words>({
    {{"npu-smi", "NPU", "Health"},
     "output of npu-smi: the state of devices, no results; give the evaluation's files or the "
     "training's log"},
    {{"NVIDIA-SMI", "Driver Version", ""},
     "output of nvidia-smi: the state of devices, no results; give the evaluation's files or the "
     "training's log"},
    {{"Task Duration(us)", "Op Name", ""}, kProfile},
    {{"Duration(us)", "Accelerator Core", ""}, kProfile},
    {{"Total Time(us)", "OP Type", ""}, kProfile},
    {{"Communication(Not Overlapped)", "Computing", ""}, kProfile},
    {{"\"traceEvents\"", "", ""}, kProfile},
    {{"\"schemaVersion\"", "\"deviceProperties\"", ""}, kProfile},
    {{"\"added_tokens\"", "\"normalizer\"", ""},
     "a tokenizer, no results; give the evaluation's files"},
    {{"\"tokenizer_class\"", "", ""},
     "a tokenizer's settings, no results; give the evaluation's files"},
    {{"\"architectures\"", "\"model_type\"", ""},
     "a model's configuration, no results; give the evaluation's files"},
    {{"\"weight_map\"", "", ""}, "an index of weights, no results; give the evaluation's files"},
    {{"\"nbformat\"", "\"cells\"", ""},
     "a notebook, which is not read; give the file that it wrote or its table as Markdown"},
    {{"<html", "</", ""}, "a web page, which is not read; give its table as Markdown or CSV"},
    {{"# nThread", "busbw", ""}, "output of nccl-tests: bandwidths of collectives, no scores"},
    {{"the minbytes is", "", ""}, "output of hccl_test: bandwidths of collectives, no scores"},
});

// The error with which the last traceback of a log ends: the first line after it that is not
// indented.
std::string error_in(std::string_view text) {
  const std::size_t begin = text.rfind("Traceback (most recent call last)");
  if (begin == text.npos) return {};
  text = text.substr(begin);
  // Of several processes each line may have a prefix of its own; then the indent stands behind it.
  for (std::size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at + 1)) {
    const std::string_view line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
    if (line.empty() || line.front() == ' ' || line.front() == '\t') continue;
    const std::string_view plain = trimmed(line);
    const std::size_t colon = plain.find(':');
    const std::string_view name = plain.substr(0, colon);
    if (name.find(' ') != name.npos) continue;
    if (!name.ends_with("Error") && !name.ends_with("Exception") && !name.ends_with("Interrupt") &&
        !name.ends_with("Exit") && colon == plain.npos)
      continue;
    return std::string(plain.substr(0, kLongest));
  }
  return {};
}

bool is_pickle(std::string_view head) {
  return head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
}

// Eight bytes of length, then JSON.
bool is_safetensors(std::string_view head) {
  return head.size() > 9 && head[8] == '{' && head[9] == '"' && head[7] == 0 && head[6] == 0;
}

std::optional<std::string> sentence_of(const fs::path& path) {
  const auto ends = ends_of(path);
  if (!ends) return std::nullopt;
  const std::string_view head = ends->head;
  if (trimmed(head).empty()) return "an empty file; did the run end before it wrote anything?";
  for (const Magic& magic : kMagics)
    if (head.starts_with(magic.bytes)) return magic.sentence;
  if (head.starts_with("PK\x03\x04")) {
    if (head.find("data.pkl") != head.npos || head.find("/data/") != head.npos) return kWeights;
    if (head.find("xl/") != head.npos)
      return "a spreadsheet, which is not read; save its table as CSV";
    return kPacked;
  }
  if (is_pickle(head) || is_safetensors(head)) return kWeights;
  for (const Words& kind : kWords)
    if (std::ranges::all_of(kind.words, [&](std::string_view word) {
          return word.empty() || head.find(word) != head.npos;
        }))
      return kind.sentence;
  if (const std::string error = error_in(ends->tail); !error.empty())
    return fmt::format("a log that ends in an error: {}; there are no results to read", error);
  const std::string name = path.filename().string();
  if (name.starts_with("events.out.tfevents"))
    return "an event file of TensorBoard; export its scalars as CSV";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> looks_like(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return sentence_of(path);
  if (!fs::is_directory(path, error)) return std::nullopt;
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator at(path, error), end;
       !error && at != end && files.size() < kFiles; at.increment(error))
    if (at->is_regular_file(error)) files.push_back(at->path());
  if (files.empty()) return "a folder without files; did the run end before it wrote anything?";
  std::ranges::sort(files);
  for (const fs::path& file : files)
    if (const auto sentence = sentence_of(file))
      return fmt::format("{} is {}", file.lexically_relative(path).string(), *sentence);
  return std::nullopt;
}

}  // namespace nb
