#include "model/engine/language_model.hpp"

#include <utility>

#include "harness/base/check.hpp"

namespace nb {

void check_request(const ScoreRequest& request, std::int64_t context_length) {
  const std::size_t size = request.tokens.size();
  NB_CHECK(request.start >= 1 && request.start <= request.end && request.end <= size,
           "[score] span [{}, {}) of {} tokens", request.start, request.end, size);
  NB_CHECK(std::cmp_less_equal(size, context_length), "[score] {} tokens, the context holds {}",
           size, context_length);
}

}  // namespace nb
