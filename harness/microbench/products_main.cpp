// npubench_products [LEVEL…]: matrix products at training and decoding shapes, at each available
// SIMD level (or those named), with 1 thread and with 2. One line a shape and layout: rate, share
// of the level's peak (a loop out of registers) and, in fp32, ratio to OpenBLAS, each the median of
// runs in turn; then geometric means. Skinny shapes: share of the rate at which the same bytes are
// read; then how many of them reach 0.5 of the peak or 0.7 of reading, and which do not. A result
// that differs from its naive definition ends the program.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "harness/base/parallel.hpp"
#include "harness/base/rng.hpp"
#include "harness/microbench/program_main.hpp"
#include "harness/microbench/stopwatch.hpp"
#include "model/kernels/matmul.hpp"
#include "model/kernels/openblas.hpp"
#include "model/kernels/peak.hpp"
#include "model/kernels/reference/matmul.hpp"
#include "model/kernels/scratch.hpp"
#include "model/kernels/simd_level.hpp"

namespace nb {
namespace {

struct LinearShape {
  const char* name;
  std::int64_t rows, out, in;  // tokens, output and input features
};
constexpr LinearShape kTraining[] = {
    {"d4 attention", 2048, 256, 256},  {"d4 mlp up", 2048, 1024, 256},
    {"d4 mlp down", 2048, 256, 1024},  {"d4 attention", 16384, 256, 256},
    {"d4 mlp up", 16384, 1024, 256},   {"d4 mlp down", 16384, 256, 1024},
    {"d4 logits", 2048, 4096, 256},    {"d6 attention", 8192, 384, 384},
    {"d6 mlp up", 8192, 1536, 384},    {"d6 mlp down", 8192, 384, 1536},
    {"d12 attention", 2048, 768, 768}, {"d12 mlp up", 2048, 3072, 768},
    {"d12 mlp down", 2048, 768, 3072},
};
constexpr LinearShape kWeights[] = {{"d4 attention", 0, 256, 256}, {"d4 mlp up", 0, 1024, 256},
                                    {"d4 mlp down", 0, 256, 1024}, {"d4 logits", 0, 4096, 256},
                                    {"d12 mlp up", 0, 3072, 768},  {"d20 mlp up", 0, 5120, 1280}};

// On huge pages where the system has them, as a device's tensors are.
struct Values {
  kernels::LargeBuffer memory;
  std::int64_t rows, cols;

  Values(std::int64_t r, std::int64_t c, const char* purpose) : rows(r), cols(c) {
    memory.resize(static_cast<std::size_t>(r * c) * sizeof(float));
    const Rng rng(1, purpose);
    for (std::int64_t i = 0; i < r * c; ++i) {
      memory.floats()[i] = static_cast<float>(rng.uniform(static_cast<std::uint64_t>(i)) - 0.5);
    }
  }
  Matrix view() const { return matrix(memory.floats(), rows, cols); }
};

class GeometricMean {
 public:
  void add(double value) {
    sum_ += std::log(value);
    ++count_;
  }
  double value() const { return count_ == 0 ? NAN : std::exp(sum_ / count_); }

 private:
  double sum_ = 0;
  int count_ = 0;
};

struct Task {
  std::string name;
  double flop = 0;
  std::function<void()> ours, blas, naive_row;
  Matrix c;
  std::vector<float> expected;  // row c.rows / 2 by the naive definition
};

bool is_exact(const Task& task) {
  task.ours();
  const float* row = task.c.row(task.c.rows / 2);
  return std::equal(row, row + task.c.cols, task.expected.begin());
}

struct Rates {
  double gflop_s, share, ratio;  // ratio 0: not measured
};

// `least_s`: short calls are repeated until that much time has passed.
Rates measure(const Task& task, DType inputs, bool with_blas, double least_s) {
  constexpr int kTurns = 7;
  const double once = seconds_of(task.ours);
  const int repeats = std::max(1, static_cast<int>(least_s / once));
  const auto rate = [&](const std::function<void()>& body) {
    return repeats / seconds_of([&] {
             for (int i = 0; i < repeats; ++i) body();
           });
  };
  if (with_blas) task.blas();
  std::vector<double> gflop_s, shares, ratios;
  for (int turn = 0; turn < kTurns; ++turn) {
    const double ours = rate(task.ours);
    double flop = 0;
    const double peak_s = seconds_of([&] { flop = kernels::run_peak_loop(inputs, 3e8); });
    gflop_s.push_back(task.flop * ours * 1e-9);
    shares.push_back(task.flop * ours / (flop / peak_s));
    if (with_blas) ratios.push_back(ours / rate(task.blas));
  }
  return {median(gflop_s), median(shares), with_blas ? median(ratios) : 0};
}

// The three products of one Linear, weights packed beforehand as in a training step.
Result<void> run_training_shape(const LinearShape& s, const MatmulPolicy& policy,
                                GeometricMean& shares, GeometricMean& ratios) {
  const Values x(s.rows, s.in, "x"), dy(s.rows, s.out, "dy"), w(s.out, s.in, "w");
  const Values y(s.rows, s.out, "y"), dx(s.rows, s.in, "dx"), dw(s.out, s.in, "dw");
  const kernels::PackedMatrix nt = kernels::pack_weight(w.view(), policy, kernels::PackFor::kNt);
  const kernels::PackedMatrix nn = kernels::pack_weight(w.view(), policy, kernels::PackFor::kNn);
  const double flop = 2.0 * static_cast<double>(s.rows) * static_cast<double>(s.out * s.in);
  std::vector<float> y_row(static_cast<std::size_t>(s.out)), dx_row(static_cast<std::size_t>(s.in)),
      dw_row(static_cast<std::size_t>(s.in));
  kernels::reference::matmul_nt(row_block(x.view(), s.rows / 2, 1), w.view(),
                                matrix(y_row.data(), 1, s.out), policy);
  kernels::reference::matmul_nn(row_block(dy.view(), s.rows / 2, 1), w.view(),
                                matrix(dx_row.data(), 1, s.in), policy);
  kernels::reference::matmul_tn(column_block(dy.view(), s.out / 2, 1), x.view(),
                                matrix(dw_row.data(), 1, s.in), policy);
  const Task tasks[] = {{"nt",
                         flop,
                         [&] { kernels::matmul_nt(x.view(), nt, y.view(), policy); },
                         [&] { kernels::openblas_nt(x.view(), w.view(), y.view()); },
                         {},
                         y.view(),
                         y_row},
                        {"nn",
                         flop,
                         [&] { kernels::matmul_nn(dy.view(), nn, dx.view(), policy); },
                         [&] { kernels::openblas_nn(dy.view(), w.view(), dx.view()); },
                         {},
                         dx.view(),
                         dx_row},
                        {"tn",
                         flop,
                         [&] { kernels::matmul_tn(dy.view(), x.view(), dw.view(), policy); },
                         [&] { kernels::openblas_tn(dy.view(), x.view(), dw.view()); },
                         {},
                         dw.view(),
                         dw_row}};
  const bool with_blas = policy.inputs == DType::kFp32;
  for (const Task& task : tasks) {
    if (!is_exact(task)) {
      return run_error(fmt::format("{} {} differs from its naive definition", s.name, task.name));
    }
    const Rates rates = measure(task, policy.inputs, with_blas, 0.005);
    shares.add(rates.share);
    fmt::print("  {:14} {:>6} x {:>4} x {:>4}  {}  {:7.1f} GF/s  {:5.3f} of peak", s.name, s.rows,
               s.out, s.in, task.name, rates.gflop_s, rates.share);
    if (with_blas) {
      ratios.add(rates.ratio);
      fmt::print("  {:5.2f} x OpenBLAS", rates.ratio);
    }
    fmt::print("\n");
  }
  return {};
}

// Bytes a second of reading `size` bytes over and over, each thread a part of its own.
double read_rate(const Values& memory, std::size_t size) {
  const auto parts = static_cast<std::size_t>(threads());
  const std::size_t part = size / parts;
  const auto* bytes = reinterpret_cast<const unsigned char*>(memory.memory.floats());
  const int repeats = static_cast<int>(std::max<std::size_t>(1, (std::size_t{32} << 20) / size));
  const double time = seconds_of([&] {
    parallel_for(parts, 1, [&](std::size_t i) {
      // No byte of the memory is 1: the fastest loop of the C library reads all of it.
      for (int r = 0; r < repeats; ++r) {
        asm volatile("" : : : "memory");  // read again, whatever the compiler knows of memchr
        if (std::memchr(bytes + i * part, 1, part) != nullptr) std::abort();
      }
    });
  });
  return static_cast<double>(part * parts) * repeats / time;
}

// How many shapes reach one of the two, and the others.
struct SkinnyShapes {
  static constexpr double kOfPeak = 0.5, kOfReading = 0.7;
  int count = 0, reached = 0;
  std::string missed;

  void add(const LinearShape& s, std::int64_t rows, double of_peak, double of_reading) {
    ++count;
    if (of_peak >= kOfPeak || of_reading >= kOfReading) {
      ++reached;
    } else {
      missed += fmt::format("{} {} x {} ({:.2f}, {:.2f})", missed.empty() ? ";" : ",", s.name, rows,
                            of_peak, of_reading);
    }
  }
  std::string text() const {
    return fmt::format("skinny: {} of {} reach {} of peak or {} of reading{}", reached, count,
                       kOfPeak, kOfReading, missed);
  }
};

Result<void> run_skinny_shape(const LinearShape& s, std::int64_t rows, const MatmulPolicy& policy,
                              double word_bytes, SkinnyShapes& skinny) {
  const Values x(rows, s.in, "x"), w(s.out, s.in, "w"), y(rows, s.out, "y");
  Values zeros(s.out, s.in, "w");
  std::fill_n(zeros.memory.floats(), zeros.rows * zeros.cols, 0.0f);
  const kernels::PackedMatrix nt = kernels::pack_weight(w.view(), policy, kernels::PackFor::kNt);
  std::vector<float> row(static_cast<std::size_t>(s.out));
  kernels::reference::matmul_nt(row_block(x.view(), rows / 2, 1), w.view(),
                                matrix(row.data(), 1, s.out), policy);
  const double flop = 2.0 * static_cast<double>(rows) * static_cast<double>(s.out * s.in);
  const Task task{"nt", flop, [&] { kernels::matmul_nt(x.view(), nt, y.view(), policy); },
                  {},   {},   y.view(),
                  row};
  if (!is_exact(task)) {
    return run_error(
        fmt::format("{} with {} rows differs from its naive definition", s.name, rows));
  }
  const Rates rates = measure(task, policy.inputs, false, 0.002);
  const double bytes = static_cast<double>(s.out * s.in) * word_bytes;
  const double ours = rates.gflop_s * 1e9 / flop * bytes;
  const double read = read_rate(zeros, static_cast<std::size_t>(bytes));
  skinny.add(s, rows, rates.share, ours / read);
  fmt::print(
      "  {:14} {:>3} x {:>4} x {:>4}  {:7.1f} GF/s  {:5.3f} of peak  {:6.1f} GB/s  {:5.3f} of "
      "reading\n",
      s.name, rows, s.out, s.in, rates.gflop_s, rates.share, ours * 1e-9, ours / read);
  return {};
}

Result<void> run_level(SimdLevel level) {
  NB_TRY_VOID(set_simd_level(level));
  for (const int count : {1, 2}) {
    set_threads(count);
    for (const DType inputs : {DType::kBf16, DType::kFp32}) {
      const MatmulPolicy policy{.inputs = inputs, .output = inputs};
      fmt::print("{} {} {} thread{}\n", name(level), name(inputs), count, count == 1 ? "" : "s");
      GeometricMean shares, ratios;
      for (const LinearShape& shape : kTraining) {
        NB_TRY_VOID(run_training_shape(shape, policy, shares, ratios));
      }
      fmt::print("  geometric mean: {:.3f} of peak", shares.value());
      if (inputs == DType::kFp32) fmt::print(", {:.2f} x OpenBLAS", ratios.value());
      fmt::print("\n");
      const bool packs_pairs = inputs == DType::kBf16 && level == SimdLevel::kAvx512Bf16;
      SkinnyShapes skinny;
      for (const LinearShape& shape : kWeights) {
        for (const std::int64_t rows : {1, 2, 4, 8, 16, 64}) {
          NB_TRY_VOID(run_skinny_shape(shape, rows, policy, packs_pairs ? 2 : 4, skinny));
        }
      }
      fmt::print("  {}\n", skinny.text());
    }
  }
  return {};
}

Result<void> run(const std::vector<std::string>& argv) {
  std::vector<SimdLevel> levels;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    NB_TRY(const SimdLevel level, parse_simd_level(argv[i]));
    levels.push_back(level);
  }
  if (levels.empty()) {
    for (const SimdLevel level : available_levels()) {
      if (level != SimdLevel::kScalar) levels.push_back(level);
    }
  }
  for (const SimdLevel level : levels) NB_TRY_VOID(run_level(level));
  return {};
}

}  // namespace
}  // namespace nb

int main(int argc, char** argv) { return nb::program_main(argc, argv, nb::run); }
