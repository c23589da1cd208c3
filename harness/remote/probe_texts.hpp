// What tokenizers differ in, as 20 texts. The last is about specials: servers read them where we
// see text.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace nb {

inline constexpr std::array<std::string_view, 20> kProbeTexts = {
    "Hello, world",
    "The quick brown fox jumps over the lazy dog.",
    " two  spaces   and more    ",
    "\ttabs\tand\nlines\n\n\n",
    "1234567890 12 345 6,789.01",
    "3.14159 + 2 = 5.14159",
    "I'm you're they've he'd we'll IT'S",
    "def f(x):\n    return x ** 2  # squared\n",
    "https://example.org/a?b=c&d=%20",
    "昇腾处理器上的训练",
    "我们在北京，今天是星期五。",
    "日本語のテキストとカタカナ",
    "한국어 문장입니다",
    "Ünïcödé naïve café",
    "e\xCC\x81 is e with an accent of its own",
    "Привет, мир",
    "🙂🙃 👩‍👩‍👧 🇨🇳",
    "“quotes” — dashes… and ½ ² ₃",
    "MiXeD CaSe snake_case camelCase",
    "<|endoftext|> <|bos|> <s> [INST]",
};
inline constexpr std::size_t kSpecialText = 19;

}  // namespace nb
