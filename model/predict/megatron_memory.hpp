// Memory of a card of a Megatron job, closed form: nothing is fitted. Static: 16-bit parameter and
// fp32 gradient (6 bytes), fp32 master and two moments (12 bytes, shared by the data-parallel cards
// with a distributed optimizer); of fp16 training 4 and 16, with an fp32 copy of the gradient.
// Peak: with what the schedule keeps of the forward pass. Pure.
#pragma once

#include "model/predict/megatron_job.hpp"

namespace nb {

struct MegatronMemory {
  double static_bytes = 0;       // of the fullest stage, after the first step
  double first_peak_bytes = 0;   // first iteration: the moments come after the activations went
  double steady_peak_bytes = 0;  // later ones
};
// The job has passed check_job.
MegatronMemory megatron_memory(const MegatronJob& job);

}  // namespace nb
