// How recorded ops are run: which are needed, which are computed together, and in which format each
// value lies on the host. Made anew for every run of a program; changes no bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/device/host_profile.hpp"
#include "model/host/op.hpp"

namespace nb::host {

class Plan;

// Ops that one function computes. They take effect where the last one stands.
struct Step {
  std::vector<std::int32_t> ops;  // ascending
  void (*run)(Plan&, const Step&) = nullptr;
  // Which formats the function can read and write: calls Plan::needs_fp32 and Plan::alike.
  void (*formats)(Plan&, const Step&) = nullptr;
};

class Plan {
 public:
  Plan(std::vector<Op> ops, bool fuses);
  void run(HostProfile* profile);

  // For patterns.
  const Op& op(std::int32_t index) const { return ops_[static_cast<std::size_t>(index)]; }
  std::int32_t size() const { return static_cast<std::int32_t>(ops_.size()); }
  bool is_free(std::int32_t index) const;  // needed, and in no step yet
  // The op whose result `values` is; -1: it was there before.
  std::int32_t producer(const Values& values) const;
  // Needed ops that read it, in order.
  const std::vector<std::int32_t>& readers(const Values& values) const;
  bool is_held(const Values& values) const;  // somebody outside could read it
  // The free op of that kind which made `values`, if only `reader` wants them; else -1.
  std::int32_t only_for(std::int32_t reader, const Values& values, OpKind kind) const;
  // The same where others may want them too.
  std::int32_t made_by(const Values& values, OpKind kind) const;
  // Whether an op between these two, or the second, writes them too (a gradient is added to).
  bool is_written_between(const Values& values, std::int32_t after, std::int32_t until) const;
  void take(Step step);

  // For Step::formats.
  void needs_fp32(const Values& values);
  void alike(const Values& a, const Values& b);

  // For Step::run. Buffers are made when they are asked for.
  //
  // Whether an op of another step, which has not run yet, or somebody outside wants them.
  bool is_wanted(const Values& values, const Step& step) const;
  bool is_bf16(const Values& values) const;  // the format that was chosen for it
  AnyMatrix make(const Values& values);
  Matrix make_fp32(const Values& values);
  // For out = f(in), element by element: out's buffer, which is in's where nobody else wants that.
  struct InAndOut {
    ConstAnyMatrix in;
    AnyMatrix out;
  };
  InAndOut make_in_place(const Values& out, const Values& in);
  // The same, with the numbers of `in` in it: for out += ….
  AnyMatrix make_copy(const Values& out, const Values& in);

 private:
  struct Use {
    Values values;
    std::int32_t producer = -1;
    std::vector<std::int32_t> readers;
    std::int32_t references = 0;  // in the ops
    std::int32_t readers_left = 0;
    bool is_held = false;
    bool may_be_bf16 = false;  // by its op's policy
    bool needs_fp32 = false;
    std::int32_t group = -1;  // of those with one format
  };
  Use* use(const Values& values);
  const Use* use(const Values& values) const;
  std::int32_t group_of(std::int32_t slot);
  void find_uses();
  void find_needed();
  void take_the_rest();
  void choose_formats();
  void run_step(const Step& step, HostProfile* profile);
  void abandon();

  std::vector<Op> ops_;
  std::vector<Use> uses_;
  std::vector<char> needed_, taken_;
  std::vector<Step> steps_;
};

// One op alone, as its kernel computes it (single.cpp).
Step single(const Plan& plan, std::int32_t op);

// Ops that are computed together (patterns.cpp): every pattern takes what it finds.
struct Pattern {
  const char* name;
  const char* ops;  // as a formula
  OpKind last;      // the op that the pattern is looked for at
  bool (*match)(Plan& plan, std::int32_t op);
};
std::span<const Pattern> patterns();
// For tests: without the pattern of that name; null: with all.
void set_pattern_off(const char* name);

}  // namespace nb::host
