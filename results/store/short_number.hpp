// Floats of items.jsonl as text.
#pragma once

#include <string>

namespace nb {

// Appends a finite float as 7 significant digits: log-probabilities of two devices differ long
// before that. −0 is 0. Where floats lie further apart than 7 digits, the digits of the float that
// will be read: so reading and writing again changes nothing.
void append_short_number(float value, std::string& text);

}  // namespace nb
