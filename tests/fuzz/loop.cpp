// A small fuzzer for compilers without libFuzzer: the same entry points, the same options of those
// that run.sh gives, the same lines. GCC calls __sanitizer_cov_trace_pc at every branch; an input
// that reaches a place that none reached before is kept and changed on.
#include <fmt/format.h>
#include <sanitizer/common_interface_defs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"

extern "C" {
int LLVMFuzzerInitialize(int* count, char*** words);
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                    unsigned seed);
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);
void __sanitizer_cov_trace_pc();
}

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPlaces = std::size_t{1} << 20;  // of branches, by the end of their address
std::uint8_t reached[kPlaces];                         // by any input
std::size_t places = 0, places_before = 0;

std::string input, prefix = "./";

// The input under work, when the process is about to die.
void keep_input() {
  const std::string path = prefix + "crash-" + nb::sha256_hex(input).substr(0, 16);
  if (std::FILE* file = std::fopen(path.c_str(), "wb")) {
    std::fwrite(input.data(), 1, input.size(), file);
    std::fclose(file);
  }
  std::fprintf(stderr, "Test unit written to %s\n", path.c_str());
}

void on_signal(int signal) {
  std::fprintf(stderr, "finding: %s\n", signal == SIGALRM ? "no end in sight" : strsignal(signal));
  keep_input();
  _exit(77);
}

std::map<std::string, long> options;
std::vector<fs::path> files;

void read_words(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const std::size_t is = word.find('=');
    if (word.starts_with("-artifact_prefix=")) {
      prefix = word.substr(is + 1);
    } else if (word.starts_with('-') && is != word.npos) {
      options[word.substr(1, is - 1)] = std::stol(word.substr(is + 1));
    } else if (fs::is_directory(word)) {
      for (const auto& entry : fs::directory_iterator(word)) files.push_back(entry.path());
    } else {
      files.emplace_back(word);
    }
  }
  std::ranges::sort(files);
}

long option(const char* name, long otherwise) {
  const auto at = options.find(name);
  return at == options.end() ? otherwise : at->second;
}

// True: it reached what none did.
bool run(std::string bytes) {
  input = std::move(bytes);
  places_before = places;
  alarm(static_cast<unsigned>(option("timeout", 60)));
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  alarm(0);
  return places > places_before;
}

}  // namespace

// Called before the sanitizers have begun, too.
[[gnu::no_sanitize("address,undefined")]] void __sanitizer_cov_trace_pc() {
  const auto at = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  std::uint8_t& place = reached[at % kPlaces];
  places += place == 0 ? 1 : 0;
  place = 1;
}

// libFuzzer's own changes are those of bytes: one of them.
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most) {
  static std::mt19937_64 random(1);
  if (size == 0 || (size < most && random() % 4 == 0)) {
    if (size == most) return size;
    const std::size_t at = random() % (size + 1);
    std::move_backward(data + at, data + size, data + size + 1);
    data[at] = static_cast<std::uint8_t>(random());
    return size + 1;
  }
  const std::size_t at = random() % size;
  if (random() % 4 == 0) {
    std::move(data + at + 1, data + size, data + at);
    return size - 1;
  }
  data[at] = static_cast<std::uint8_t>(data[at] ^ (1U << random() % 8));
  return size;
}

int main(int count, char** words) {
  LLVMFuzzerInitialize(&count, &words);
  read_words(count, words);
  __sanitizer_set_death_callback(keep_input);
  // The address sanitizer sees to the others.
  for (const int signal : {SIGABRT, SIGALRM, SIGFPE, SIGILL}) std::signal(signal, on_signal);
  std::vector<std::string> corpus;
  for (const fs::path& file : files)
    if (auto bytes = nb::read_file(file)) {
      run(*bytes);
      corpus.push_back(std::move(*bytes));
    }
  if (corpus.empty()) corpus.emplace_back("\n");
  const long seconds = option("max_total_time", 0), runs = option("runs", seconds > 0 ? -1 : 0);
  const auto most = static_cast<std::size_t>(option("max_len", 4096));
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::mt19937_64 random(static_cast<std::uint64_t>(option("seed", 1)));
  long done = 0;
  for (; done != runs && (seconds == 0 || elapsed() < static_cast<double>(seconds)); ++done) {
    // The newest half of the time: they reached what is least known.
    const std::size_t newest = std::min<std::size_t>(corpus.size(), 8);
    const std::string& from = random() % 2 == 0 ? corpus[random() % corpus.size()]
                                                : corpus[corpus.size() - 1 - random() % newest];
    std::vector<std::uint8_t> bytes(from.begin(), from.end());
    bytes.resize(std::max(most, from.size()));
    const std::size_t size = LLVMFuzzerCustomMutator(bytes.data(), std::min(from.size(), most),
                                                     most, static_cast<unsigned>(random()));
    if (run({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}))
      corpus.push_back(input);
  }
  fmt::print(stderr,
             "#{0} DONE cov: {1} corp: {2}\nstat::number_of_executed_units: {0}\n"
             "stat::average_exec_per_sec: {3:.0f}\n",
             done, places, corpus.size(), static_cast<double>(done) / std::max(elapsed(), 1e-3));
  return 0;
}
