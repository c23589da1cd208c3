// Other inputs from sound ones: bytes, words of text formats, lines, cells and JSON values changed.
// Functions of the generator alone, so that a test and a fuzzer draw from one source.
#pragma once

#include <cstddef>
#include <random>
#include <string>

namespace nb::test {

// One to three changes; at most `most` bytes.
std::string mutated(std::string bytes, std::mt19937_64& random, std::size_t most);
// A line, cell, JSON value or stretch of it repeated until it is about so many bytes long: what a
// parser makes of long files must not grow faster than they do.
std::string grown(const std::string& bytes, std::mt19937_64& random, std::size_t size);

}  // namespace nb::test
