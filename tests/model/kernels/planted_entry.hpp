// Functions of a level's table that give a wrong result when they are told to. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "model/kernels/inner/table.hpp"

namespace nb::test {

namespace inner = kernels::inner;

// The place where results of an argument begin, and what becomes of the value there: the lowest bit
// of its last place is flipped, or, where more is computed from it that could lose that bit, the
// highest one of its mantissa.
struct Output {
  void* place;
  std::uint32_t flip = 1;
};
using Outputs = std::vector<Output>;
inline constexpr std::uint32_t kHighest = 0x00400000u, kHighestOfBf16 = 0x0040u;

inline void spoil(const Output& output) {
  auto* const bytes = static_cast<unsigned char*>(output.place);
  for (int i = 0; i < 3; ++i) {
    const auto flip = static_cast<unsigned char>(output.flip >> (8 * i));
    if (flip != 0) bytes[i] ^= flip;
  }
}

// What a function writes. A type that is not named here does not compile.
inline Outputs outputs(const void*) { return {}; }  // and all pointers to constants
inline Outputs outputs(float* p) { return {{p}}; }
inline Outputs outputs(std::uint32_t* p) { return {{p, kHighest}}; }
inline Outputs outputs(std::uint16_t* p) {
  if (p == nullptr) return {};
  return {{p, kHighestOfBf16}};
}
inline Outputs outputs(inner::CapRow* row) { return {{row->best}, {&row->is_ordinary}}; }
inline Outputs outputs(const inner::CapScalars&) { return {}; }
inline Outputs outputs(const inner::GradientScalars&) { return {}; }
inline Outputs outputs(const inner::AdamWScalars&) { return {}; }
inline Outputs outputs(const inner::NormRows& rows) {
  void* out = rows.out.bf16;
  if (out == nullptr) out = rows.out.fp32;
  return {{out}, {rows.rstd}};
}
inline Outputs outputs(const inner::NormBackwardRows& rows) {
  if (rows.dx.bf16 != nullptr) return {{rows.dx.bf16}};
  return {{rows.dx.fp32}};
}
inline Outputs outputs(const inner::GemmTile& tile) { return {{tile.out}}; }
inline Outputs outputs(const inner::AttentionForward& b) { return {{b.sums}, {b.max}, {b.sum}}; }
inline Outputs outputs(const inner::AttentionOne& b) { return {{b.sums}, {b.max}, {b.sum}}; }
inline Outputs outputs(const inner::AttentionBackward& b) {
  return {{b.p, kHighest}, {b.ds, kHighest}, {b.dq}};
}
inline Outputs outputs(const inner::AttentionOverQueries& t) { return {{t.c, kHighest}}; }
template <class Number>
requires std::is_arithmetic_v<Number> Outputs outputs(Number) { return {}; }

// Which call of a function is wrong, and in which output.
struct Plan {
  int call = -1, output = 0;
  int calls = 0, outputs = 0;  // seen
};
inline Plan plan;

// The function kEntry of `right`, wrong as the plan says.
template <class Owner>
inline const Owner* right = nullptr;

template <auto kEntry>
struct Wrong;
template <class Owner, class Result, class... Arguments, Result (*Owner::*kEntry)(Arguments...)>
struct Wrong<kEntry> {
  static Result call(Arguments... arguments) {
    const bool is_wrong = plan.calls++ == plan.call;
    if constexpr (std::is_void_v<Result>) {
      (right<Owner>->*kEntry)(arguments...);
      Outputs places;
      const auto add = [&](const auto& argument) {
        for (const Output& place : outputs(argument)) places.push_back(place);
      };
      (add(arguments), ...);
      plan.outputs = std::max(plan.outputs, static_cast<int>(places.size()));
      if (is_wrong) spoil(places.at(static_cast<std::size_t>(plan.output) % places.size()));
    } else {
      Result result = (right<Owner>->*kEntry)(arguments...);
      plan.outputs = 1;
      if (is_wrong) spoil({&result});
      return result;
    }
  }
};

template <class Owner>
struct Entry {
  const char* name;
  void (*plant)(Owner& copy);
};
template <auto kEntry, class Owner>
constexpr void plant(Owner& copy) {
  copy.*kEntry = Wrong<kEntry>::call;
}
#define NB_ENTRY(Owner, name) \
  ::nb::test::Entry<Owner> { #name, ::nb::test::plant < &Owner::name, Owner> }

}  // namespace nb::test
