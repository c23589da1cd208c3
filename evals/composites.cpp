#include "evals/composites.hpp"

#include <utility>

#include "evals/chat/composite.hpp"
#include "evals/core/composite.hpp"

namespace nb {
namespace {

using Composite = std::vector<EvalResult> (*)(std::span<const EvalResult>, const EvalSettings&);
constexpr Composite kComposites[] = {core_composites, chat_composites};

}  // namespace

std::vector<EvalResult> composites(std::span<const EvalResult> results,
                                   const EvalSettings& settings) {
  std::vector<EvalResult> all;
  for (const Composite composite : kComposites)
    for (EvalResult& result : composite(results, settings)) all.push_back(std::move(result));
  return all;
}

}  // namespace nb
