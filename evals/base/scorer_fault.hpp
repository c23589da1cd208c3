// A scorer broken on purpose (harness/faults), after items and prompts are hashed, so that
// comparability does not see it and only the gate can.
#pragma once

namespace nb {

enum class ScorerFault {
  kNone,
  // Choice tasks: the second best choice is picked. Language modelling: an exact match counts as a
  // miss, since the second most likely token is never the matching one.
  kSecondBest,
};

}  // namespace nb
