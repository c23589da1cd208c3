// How recorded ops are run. A plan is made anew for every run of a program and changes no bit. The
// constructor goes in this order, and each part relies on those before it:
//
// 1. Uses: which op makes each value, how often ops refer to it, whether somebody outside holds
//    it.
// 2. Needs: from the last op to the first, an op is needed if a result of it is held or is read by
//    a needed op, or if it writes into a cache. Only needed ops are readers.
// 3. Patterns take ops that one function computes (patterns.cpp). What they leave is taken op by
//    op. Every needed op is in exactly one step.
// 4. Steps are sorted by their last ops: that is where they take effect.
// 5. Formats: a value lies on the host as bf16 in two bytes where its policy rounds to bf16, no
//    step needs it in fp32 and nobody outside holds it. Values that must be alike are decided
//    together.
//
// Running, a buffer is made when a step asks for it and given back after the step that reads it
// last.
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
  // The op that makes `values`; -1: they were there before.
  std::int32_t producer(const Values& values) const;
  // The needed ops that read them, in order.
  const std::vector<std::int32_t>& readers(const Values& values) const;
  bool is_held(const Values& values) const;  // somebody outside could read it
  // The free op of that kind that makes `values`, if `reader` alone wants them; else -1.
  std::int32_t only_for(std::int32_t reader, const Values& values, OpKind kind) const;
  // The same where others may want them too.
  std::int32_t made_by(const Values& values, OpKind kind) const;
  // Whether an op after `after`, up to and including `until`, writes them too (a gradient that is
  // added to).
  bool is_written_between(const Values& values, std::int32_t after, std::int32_t until) const;
  void take(Step step);

  // For Step::formats.
  void needs_fp32(const Values& values);
  void alike(const Values& a, const Values& b);

  // For Step::run. Buffers are made when they are asked for.
  //
  // Whether somebody outside wants them, or an op of another step that has not run yet.
  bool is_wanted(const Values& values, const Step& step) const;
  bool is_bf16(const Values& values) const;  // the format that was chosen for it
  AnyMatrix make(const Values& values);
  Matrix make_fp32(const Values& values);
  // For out = f(in), element by element. The buffer of `out` is that of `in` where nobody else
  // wants `in`.
  struct InAndOut {
    ConstAnyMatrix in;
    AnyMatrix out;
  };
  InAndOut make_in_place(const Values& out, const Values& in);
  // The same, with a copy of `in` in it: for out += ….
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

// Where the losses of a head's rows go: each of them, or their mean; nowhere where nobody has a
// place for them (single.cpp).
void keep_losses(Plan& plan, const CrossEntropy& loss, std::span<const float> losses);

// One op alone, as its kernel computes it (single.cpp).
Step single(std::int32_t op);

// Ops that are computed together (patterns.cpp): every pattern takes what it finds.
struct Pattern {
  const char* name;
  const char* ops;  // as a formula
  OpKind last;      // the op that the pattern is looked for at
  bool (*match)(Plan& plan, std::int32_t op);
};
std::span<const Pattern> patterns();
// For tests and benchmarks: without the pattern of that name; null: with all.
void set_pattern_off(const char* name);

}  // namespace nb::host
