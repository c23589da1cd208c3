// RMS norm at the row counts of a step: d4, d6 and d12 on both clocks, d20 simulated. Bound by
// memory or cache: its rate is a share of a plain copy of as many bytes.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/rng.hpp"
#include "harness/microbench/programs.hpp"
#include "harness/microbench/timing.hpp"
#include "model/device/device.hpp"
#include "model/kernels/reference/rows.hpp"
#include "model/kernels/rms_norm.hpp"

namespace nb {
namespace {

struct NormCase {
  const char* name;
  std::int64_t rows, cols;
  bool on_host;
};
constexpr NormCase kNormCases[] = {{"d4", 2048, 256, true},
                                   {"d6", 4096, 384, true},
                                   {"d12", 4096, 768, true},
                                   {"d20", 65536, 1280, false}};

struct NormWork {
  std::int64_t rows, cols;
  DType storage;
  std::vector<float> x, dy, out, dx, rstd;

  NormWork(const NormCase& s, DType dtype) : rows(s.rows), cols(s.cols), storage(dtype) {
    std::uint64_t seed = 0;
    const auto count = static_cast<std::size_t>(rows * cols);
    for (std::vector<float>* tensor : {&x, &dy}) {
      const Rng rng(++seed, "microbench norm");
      tensor->resize(count);
      for (std::size_t i = 0; i < count; ++i)
        (*tensor)[i] = round_to(storage, static_cast<float>(2 * rng.uniform(i) - 1));
    }
    out.resize(count), dx.resize(count), rstd.resize(static_cast<std::size_t>(rows));
  }
  template <class Values>
  auto view(Values& values) const {
    return matrix(values.data(), rows, cols);
  }
  void forward() { kernels::rms_norm(view(std::as_const(x)), view(out), rstd, storage); }
  void backward() {
    kernels::rms_norm_backward(view(std::as_const(dy)), view(std::as_const(x)), rstd, view(dx),
                               storage);
  }
  bool equals_reference() const {
    std::vector<float> y(out.size()), scale(rstd.size()), d(dx.size());
    kernels::reference::rms_norm(view(x), view(y), scale, storage);
    kernels::reference::rms_norm_backward(view(dy), view(x), scale, view(d), storage);
    return std::equal(y.begin(), y.end(), out.begin()) &&
           std::equal(d.begin(), d.end(), dx.begin()) &&
           std::equal(scale.begin(), scale.end(), rstd.begin());
  }
};

void add_host(const NormCase& shape, bool backward, const MicrobenchRequest& request,
              const DeviceProfile& profile) {
  const auto work = std::make_shared<std::unique_ptr<NormWork>>();
  const double elements = static_cast<double>(shape.rows * shape.cols);
  const HostBenchmark what{
      .name = std::string("norm/") + shape.name + (backward ? "/backward" : "/forward"),
      .min_time_s = request.min_time_s,
      // x and the result; with dy as well in the backward.
      .bytes = elements * static_cast<double>(sizeof(float)) * (backward ? 3 : 2)};
  const DType storage = profile.numerics.storage;
  register_host(what, [=](benchmark::State& state) -> std::function<void()> {
    if (*work == nullptr) {
      *work = std::make_unique<NormWork>(shape, storage);
      (*work)->forward();
      (*work)->backward();
      if (!(*work)->equals_reference()) {
        state.SkipWithError("the norm differs from its naive definition");
        work->reset();
        return {};
      }
    }
    return [work, backward] { backward ? (*work)->backward() : (*work)->forward(); };
  });
}

void add_simulated(const NormCase& shape, bool backward, const DeviceProfile& profile) {
  register_simulated(std::string("norm/") + shape.name + (backward ? "/backward" : "/forward"),
                     [shape, backward, &profile](benchmark::State&) {
                       Device device(profile, ExecutionMode::kDry, {.trace_steps = 0});
                       const std::int64_t start_ns = device.time_ns();
                       device.run({.kind = backward ? OpKind::kRmsNormBackward : OpKind::kRmsNorm,
                                   .label = "norm",
                                   .rows = shape.rows,
                                   .cols = shape.cols},
                                  [] {});
                       device.synchronize();
                       return device.time_ns() - start_ns;
                     });
}

}  // namespace

void register_norm(const MicrobenchRequest& request, const DeviceProfile& profile) {
  for (const NormCase& shape : kNormCases) {
    for (const bool backward : {false, true}) {
      if (shape.on_host) add_host(shape, backward, request, profile);
      add_simulated(shape, backward, profile);
    }
  }
}

}  // namespace nb
