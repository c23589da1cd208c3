// Logs of inspect_ai: .eval archives and JSON files. One sample at a time is in memory.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "results/foreign/json_slices.hpp"
#include "results/foreign/lines.hpp"
#include "results/import/inspect_log.hpp"
#include "results/import/readers.hpp"
#include "results/import/zip_entries.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kZipMagic = "PK\x03\x04";
constexpr std::size_t kNameLengthAt = 26, kNameAt = 30;  // APPNOTE.TXT 6.3.10, 4.3.7
constexpr std::string_view kSamples = "samples/", kShell = "/sample.json",
                           kAttachments = "/attachments/";

// samples/<id>_epoch_<n>.json, or of large samples samples/<id>_epoch_<n>/sample.json; other parts
// of a large one (events/0.json) are none. Ids may hold slashes.
bool is_sample(const ZipReader& zip, std::string_view name) {
  if (!name.starts_with(kSamples) || !name.ends_with(".json")) return false;
  if (name.ends_with(kShell)) return true;
  for (std::size_t slash = name.find('/', kSamples.size()); slash != name.npos;
       slash = name.find('/', slash + 1))
    if (zip.find(std::string(name.substr(0, slash)) + std::string(kShell)) != nullptr) return false;
  return name.find("_epoch_") != name.npos;
}

// attachments/<start>.json of a large sample is a list of texts that begins at number <start>.
Result<std::string> attachment_in(const ZipReader& zip, const std::string& prefix,
                                  const std::string& number) {
  const auto integer = [](std::string_view text) -> std::optional<std::int64_t> {
    if (text.empty() || text.size() > 15 ||
        text.find_first_not_of("0123456789") != std::string_view::npos)
      return std::nullopt;
    return std::stoll(std::string(text));
  };
  const auto wanted = integer(number);
  if (!wanted) return std::string();
  const ZipEntry* chunk = nullptr;
  std::int64_t chunk_start = -1;
  for (const ZipEntry& entry : zip.entries()) {
    std::string_view name = entry.name;
    if (!name.starts_with(prefix) || !name.ends_with(".json")) continue;
    name.remove_prefix(prefix.size());
    name.remove_suffix(5);
    const auto start = integer(name);
    if (!start || *start > *wanted || *start <= chunk_start) continue;
    chunk = &entry;
    chunk_start = *start;
  }
  if (chunk == nullptr) return std::string();
  NB_TRY(const std::string text, zip.read(*chunk));
  NB_TRY(const Json list, parse_slice(text, std::string(chunk->name)));
  const auto at = static_cast<std::size_t>(*wanted - chunk_start);
  return list.is_array() && at < list.size() ? text_of(list[at]) : std::string();
}

}  // namespace

bool is_inspect_eval(const FileHead& head) {
  if (!head.bytes.starts_with(kZipMagic) || head.bytes.size() < kNameAt) return false;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(head.bytes[at]); };
  const std::size_t length = byte(kNameLengthAt) + std::size_t{256} * byte(kNameLengthAt + 1);
  const std::string_view name = head.bytes.substr(kNameAt, length);
  return name.starts_with("_journal/") || name.starts_with(kSamples) || name == "header.json" ||
         name == "summaries.json" || name == "reductions.json";
}

Result<void> read_inspect_eval(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const ZipReader zip, ZipReader::open(path));
  // A run that was killed has no header yet.
  const ZipEntry* header = zip.find("header.json");
  if (header == nullptr) header = zip.find("_journal/start.json");
  if (header == nullptr)
    return bad_input(path.string() +
                     ": holds neither header.json nor _journal/start.json, as inspect_ai logs do");
  const std::string header_where = fmt::format("{}: {}", path.string(), header->name);
  NB_TRY(const std::string header_text, zip.read(*header));
  NB_TRY(const auto members, slices_of(header_text, header_where));
  InspectLog log(path, builder);
  NB_TRY_VOID(log.header(members, header_where));
  for (const ZipEntry& entry : zip.entries()) {
    if (!is_sample(zip, entry.name) || !builder.may_be_wanted(entry.name)) continue;
    const std::string where = fmt::format("{}: {}", path.string(), entry.name);
    NB_TRY(const std::string text, zip.read(entry));
    InspectLog::Attachment elsewhere;
    if (entry.name.ends_with(kShell))
      elsewhere =
          [&,
           prefix =
               std::string(entry.name, 0, entry.name.size() - kShell.size()).append(kAttachments)](
              const std::string& name) { return attachment_in(zip, prefix, name); };
    NB_TRY_VOID(log.sample(text, where, elsewhere));
  }
  log.totals();
  return {};
}

bool is_inspect_json(const FileHead& head) {
  return head_has_key(head, "eval") && (head_has_key(head, "status") || head_has_key(head, "plan"));
}

Result<void> read_inspect_json(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(MappedText file, MappedText::open(path));
  NB_TRY(const auto members, slices_of(file.text(), path.string(), &file));
  InspectLog log(path, builder);
  NB_TRY_VOID(log.header(members, path.string()));
  const auto samples = members.find("samples");
  if (samples != members.end() && samples->second != "null") {
    NB_TRY_VOID(for_each_slice(
        samples->second, path.string() + ": /samples",
        [&](const JsonSlice& slice) -> Result<void> {
          if (!builder.may_be_wanted(slice.text, {"id"})) return {};
          const std::string where = fmt::format("{}: /samples/{}", path.string(), slice.key);
          return log.sample(slice.text, where, {});
        },
        &file));
  }
  log.totals();
  return {};
}

}  // namespace nb
