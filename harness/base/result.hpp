// Result<T>: a value or one sentence about what went wrong in the world (file, config, data, user).
// Not for our own mistakes: those are NB_CHECK (check.hpp). Thread-safe: plain values.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace nb {

// What the process exits with when the error reaches main (README.md).
enum class ErrorCode {
  kBadInput = 64,  // usage, suite, data or tokenizer file, checkpoint: the user can mend it
  kRun = 4,  // a run or the infrastructure failed: disk full, simulated out of memory, child died
};

struct Error {
  ErrorCode code = ErrorCode::kBadInput;
  std::string message;  // what, where (file: /json/pointer or file:line), what to try
};

template <class T = void>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

inline tl::unexpected<Error> bad_input(std::string message) {
  return tl::unexpected<Error>(Error{ErrorCode::kBadInput, std::move(message)});
}
inline tl::unexpected<Error> run_error(std::string message) {
  return tl::unexpected<Error>(Error{ErrorCode::kRun, std::move(message)});
}

// Puts "context: " before the message; an empty context leaves it as it is.
inline Error with_context(Error error, const std::string& context) {
  if (!context.empty()) error.message = context + ": " + error.message;
  return error;
}

}  // namespace nb

#define NB_CONCAT_INNER(a, b) a##b
#define NB_CONCAT(a, b) NB_CONCAT_INNER(a, b)

// NB_TRY(auto x, load(p));  or  NB_TRY(auto x, load(p), "suite smoke");  returns the error upwards.
#define NB_TRY(...) NB_TRY_PICK(__VA_ARGS__, NB_TRY_3, NB_TRY_2, )(__VA_ARGS__)
#define NB_TRY_PICK(a, b, c, name, ...) name
#define NB_TRY_2(declaration, expression) NB_TRY_3(declaration, expression, "")
#define NB_TRY_3(declaration, expression, context) \
  NB_TRY_IMPL(NB_CONCAT(nb_try_, __LINE__), declaration, expression, context)
#define NB_TRY_IMPL(temporary, declaration, expression, context)                                   \
  auto temporary = (expression);                                                                   \
  if (!temporary)                                                                                  \
    return tl::unexpected<::nb::Error>(::nb::with_context(std::move(temporary).error(), context)); \
  declaration = std::move(*temporary)

// NB_TRY_VOID(save(p));  for Result<void>.
#define NB_TRY_VOID(...) NB_TRY_VOID_PICK(__VA_ARGS__, NB_TRY_VOID_2, NB_TRY_VOID_1, )(__VA_ARGS__)
#define NB_TRY_VOID_PICK(a, b, name, ...) name
#define NB_TRY_VOID_1(expression) NB_TRY_VOID_2(expression, "")
#define NB_TRY_VOID_2(expression, context)                              \
  do {                                                                  \
    auto nb_try_void = (expression);                                    \
    if (!nb_try_void)                                                   \
      return tl::unexpected<::nb::Error>(                               \
          ::nb::with_context(std::move(nb_try_void).error(), context)); \
  } while (false)
