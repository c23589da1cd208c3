#include "harness/mpi/open_processes.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "harness/base/fs.hpp"
#include "harness/mpi/openmpi.h"

namespace nb {
namespace {

using std::chrono::steady_clock;

// A longer message goes in pieces of this size and a shorter one, perhaps empty, behind them.
constexpr std::size_t kPiece = std::size_t{1} << 30;

struct Module {
  decltype(&nb_mpi_open) open;
  decltype(&nb_mpi_send) send;
  decltype(&nb_mpi_is_sent) is_sent;
  decltype(&nb_mpi_waiting) waiting;
  decltype(&nb_mpi_take) take;
  decltype(&nb_mpi_close) close;
  decltype(&nb_mpi_abort) abort;
};

int number_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

Result<Module> load_module() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  fs::path file = program / "libnpubench_mpi.so";
  if (!fs::exists(file, error)) file = program / "../lib/npubench/libnpubench_mpi.so";
  if (!fs::exists(file, error))
    return run_error(fmt::format(
        "mpirun has started {} processes, but this npubench was built without MPI; install "
        "libopenmpi-dev and build it again, or start it without mpirun",
        number_of("OMPI_COMM_WORLD_SIZE")));
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) return run_error(fmt::format("MPI cannot be loaded: {}", ::dlerror()));
  Module module{};
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    return function != nullptr;
  };
  if (!find(module.open, "nb_mpi_open") || !find(module.send, "nb_mpi_send") ||
      !find(module.is_sent, "nb_mpi_is_sent") || !find(module.waiting, "nb_mpi_waiting") ||
      !find(module.take, "nb_mpi_take") || !find(module.close, "nb_mpi_close") ||
      !find(module.abort, "nb_mpi_abort"))
    return run_error(fmt::format("{}: not of this npubench; build it again", file.string()));
  return module;
}

// Between two looks at what has come: none at first, as most answers come soon and a timer wakes up
// late; then rests that grow with the wait, as each look takes a core from those that work.
class Patience {
 public:
  void rest() {
    using std::chrono::microseconds;
    const auto waited = steady_clock::now() - begin_;
    if (waited < microseconds(1000)) return std::this_thread::yield();
    std::this_thread::sleep_for(std::min<steady_clock::duration>(waited / 32, microseconds(200)));
  }

 private:
  const steady_clock::time_point begin_ = steady_clock::now();
};

}  // namespace

class Job::Mpi final : public Processes {
 public:
  Mpi(const Module& module, int index, int count, int on_this_machine)
      : Processes(index, count, on_this_machine), module_(module) {}

  void send(int to, int queue, std::string_view bytes) override {
    for (bool is_last = false; !is_last;) {
      const std::string_view piece = bytes.substr(0, kPiece);
      is_last = piece.size() < kPiece;
      bytes.remove_prefix(piece.size());
      void* sent = nullptr;
      {
        const std::lock_guard lock(mutex_);
        sent = module_.send(to, queue, piece.data(), static_cast<int>(piece.size()));
      }
      if (sent == nullptr) throw std::bad_alloc();
      for (Patience patience;; patience.rest()) {
        const std::lock_guard lock(mutex_);
        if (module_.is_sent(sent) != 0) break;
      }
    }
  }

  std::optional<std::string> receive(int from, int queue,
                                     std::optional<std::chrono::milliseconds> limit) override {
    const auto begin = steady_clock::now();
    std::string bytes;
    for (Patience patience;;) {
      {
        const std::lock_guard lock(mutex_);
        if (const int size = module_.waiting(from, queue); size >= 0) {
          const std::size_t before = bytes.size();
          bytes.resize(before + static_cast<std::size_t>(size));
          module_.take(from, queue, bytes.data() + before, size);
          if (static_cast<std::size_t>(size) < kPiece) return bytes;
          continue;
        }
      }
      if (limit && steady_clock::now() - begin > *limit) return std::nullopt;
      patience.rest();
    }
  }

  void close() { module_.close(); }
  void abort(int exit_code) { module_.abort(exit_code); }

 private:
  const Module module_;
  std::mutex mutex_;
};

bool is_in_job() { return number_of("OMPI_COMM_WORLD_SIZE") > 1; }
bool is_follower_of_job() { return is_in_job() && number_of("OMPI_COMM_WORLD_RANK") > 0; }

bool close_outputs() {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  return nowhere >= 0 && ::dup2(nowhere, STDOUT_FILENO) >= 0 && ::dup2(nowhere, STDERR_FILENO) >= 0;
}

Job::Job(std::unique_ptr<Mpi> mpi) : processes_(std::move(mpi)) {
  set_processes_of_job(processes_.get());
}

Processes& Job::processes() const { return *processes_; }

Result<std::unique_ptr<Job>> Job::open() {
  if (!is_in_job()) return std::unique_ptr<Job>();
  NB_TRY(const Module module, load_module());
  int index = 0, count = 0, on_this_machine = 0;
  if (module.open(&index, &count, &on_this_machine) != 0)
    return run_error("MPI cannot be started with calls from several threads");
  // Messages of some MB come and go with every step: their memory is kept, not given back each
  // time.
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  return std::unique_ptr<Job>(
      new Job(std::make_unique<Mpi>(module, index, count, on_this_machine)));
}

Job::~Job() {
  if (!has_ended_ && !processes_->leads()) processes_->abort(static_cast<int>(ErrorCode::kRun));
  end(static_cast<int>(ErrorCode::kRun));
  set_processes_of_job(nullptr);
}

void Job::end(int exit_code) {
  if (std::exchange(has_ended_, true)) return;
  std::fflush(stdout);
  if (processes_->has_lost())
    processes_->abort(exit_code == 0 ? static_cast<int>(ErrorCode::kRun) : exit_code);
  if (processes_->leads()) processes_->tell(JobNews::kJobEnd, std::to_string(exit_code));
  processes_->close();
}

}  // namespace nb
