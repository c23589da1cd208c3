// Encoding speed on one thread: a generated world under a tokenizer trained on it, and English
// novels under GPT-2's vocabulary where the user has the data (NPUBENCH_DATA, else
// ~/.cache/npubench/data). Verified by decoding before it is timed. Host clock only.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/fs.hpp"
#include "harness/base/locations.hpp"
#include "harness/microbench/programs.hpp"
#include "harness/microbench/timing.hpp"
#include "model/data/microworld.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "model/tokenizer/train_tokenizer.hpp"

namespace nb {
namespace {

constexpr std::size_t kTextBytes = 4 << 20;

struct Work {
  Tokenizer tokenizer;
  std::string text;
};

Result<Work> microworld() {
  const Microworld world = generate_microworld({});
  NB_TRY(Tokenizer tokenizer, train_tokenizer(world.documents, 512));
  std::string text;
  for (std::size_t i = 0; text.size() < kTextBytes; ++i)
    text += world.documents[i % world.documents.size()] + "\n";
  return Work{std::move(tokenizer), std::move(text)};
}

Result<Work> novels() {
  const fs::path data = data_folder("");
  NB_TRY(Tokenizer tokenizer, Tokenizer::load(data / "tokenizers" / "gpt2"));
  std::vector<fs::path> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(data / "text" / "english_novels", error))
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::string text;
  for (const fs::path& path : paths) {
    NB_TRY(const std::string novel, read_file(path));
    text += novel;
    if (text.size() >= kTextBytes) break;
  }
  if (text.empty()) return bad_input((data / "text" / "english_novels").string() + ": no novels");
  return Work{std::move(tokenizer), std::move(text)};
}

void add(const char* name, Result<Work> (*make)(), std::size_t bytes,
         const MicrobenchRequest& request) {
  const auto work = std::make_shared<std::unique_ptr<Work>>();
  const HostBenchmark what{.name = std::string("tokenizer/") + name,
                           .min_time_s = request.min_time_s,
                           .bytes = static_cast<double>(bytes)};
  register_host(what, [=](benchmark::State& state) -> std::function<void()> {
    if (*work == nullptr) {
      Result<Work> made = make();
      if (!made) {
        state.SkipWithError((kUnmeasured + made.error().message).c_str());
        return {};
      }
      made->text.resize(bytes);
      if (made->tokenizer.decode_bytes(made->tokenizer.encode(made->text)) != made->text) {
        state.SkipWithError("decoding does not give the text back");
        return {};
      }
      *work = std::make_unique<Work>(std::move(*made));
    }
    return [work] { benchmark::DoNotOptimize((*work)->tokenizer.encode((*work)->text)); };
  });
}

}  // namespace

void register_tokenizer(const MicrobenchRequest& request, const DeviceProfile&) {
  add("microworld", microworld, kTextBytes, request);
  std::error_code error;
  if (fs::exists(data_folder("") / "tokenizers" / "gpt2", error))
    add("gpt2/novels", novels, kTextBytes, request);
}

}  // namespace nb
