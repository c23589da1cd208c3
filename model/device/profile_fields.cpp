// The keys of a profile, one list a struct; all are required.
#include "model/device/profile.hpp"

namespace nb {
namespace {

Field number(const char* key, const char* doc, Quantity* member) {
  return {key, doc, object(member), {.required = true}};
}
template <class T>
Field choice(const char* key, const char* doc, Sourced<T>* member) {
  return {key, doc, object(member), {.required = true}};
}
Field text(const char* key, const char* doc, std::string* member) {
  return {key, doc, member, {.required = true}};
}
Field optional_number(const char* key, const char* doc, std::optional<Quantity>* member,
                      const std::string& unit) {
  // std::optional<Quantity>{} does not know its unit; make one that does before parsing.
  auto fresh = std::make_shared<Quantity>(unit);
  return {
      key, doc,
      ObjectRef{
          [member, fresh] { return member->has_value() ? (*member)->fields() : fresh->fields(); },
          [member] { return member->has_value(); }, [member, unit] { member->emplace(unit); }}};
}

}  // namespace

FieldList IdentityProfile::fields() {
  return {
      text("name", "what suites call it", &name),
      text("title", "what people call it", &title),
      text("vendor", "who makes it", &vendor),
      {"kind", "what it is", &kind, {.one_of = {"npu", "gpu", "cpu", "test"}, .required = true}},
      text("source", "where the description comes from", &source),
      {"evidence",
       "data_sheet: nothing was measured on it",
       &evidence,
       {.one_of = {"data_sheet"}, .omits_absent = true}}};
}

FieldList PeakProfile::fields() {
  return {optional_number("fp32", "dense peak, fp32 inputs", &fp32, "TFLOP/s"),
          optional_number("tf32", "dense peak, tf32 inputs", &tf32, "TFLOP/s"),
          optional_number("hf32", "dense peak, hf32 inputs", &hf32, "TFLOP/s"),
          optional_number("bf16", "dense peak, bf16 inputs", &bf16, "TFLOP/s"),
          optional_number("fp16", "dense peak, fp16 inputs", &fp16, "TFLOP/s")};
}

const std::optional<Quantity>& PeakProfile::of(DType dtype) const {
  switch (dtype) {
    case DType::kFp32:
      return fp32;
    case DType::kBf16:
      return bf16;
    case DType::kFp16:
      return fp16;
    case DType::kTf32:
      return tf32;
    case DType::kHf32:
      return hf32;
  }
  return fp32;
}

FieldList MatrixUnitProfile::fields() {
  return {
      number("cores", "cores with a matrix unit", &cores),
      optional_number("clock", "of the peak", &clock, "GHz"),
      optional_number("sustained_clock", "what power leaves of it", &sustained_clock, "share"),
      {"peak", "dense peak by input type", object(&peak), {.required = true}},
      number("tile_m", "rows of a core's output tile", &tile_m),
      number("tile_n", "columns of a core's output tile", &tile_n),
      number("tile_k", "step along the sum", &tile_k),
      number("load_penalty", "of operands' way from the cache; 0: none", &load_penalty),
      number("unaligned_load", "the same where rows are no multiple of 512 B", &unaligned_load),
      number("attention_key_tile", "keys that fused attention takes at once", &attention_key_tile),
      number("attention_ramp", "keys in whose time a block of queries fills its pipeline",
             &attention_ramp),
      number("attention_exchange", "of a score between matrix and vector cores; 0: none",
             &attention_exchange),
      number("efficiency", "share of the peak that full waves reach", &efficiency),
      number("attention_efficiency", "the same, fused attention forward", &attention_efficiency),
      optional_number("attention_backward_efficiency", "the same, backward",
                      &attention_backward_efficiency, "share")};
}

FieldList VectorUnitProfile::fields() { return {number("peak", "fp32 peak of all cores", &peak)}; }

FieldList MemoryLevelProfile::fields() {
  return {number("capacity", "size", &capacity), number("bandwidth", "peak", &bandwidth),
          number("efficiency", "share of it that streaming kernels reach", &efficiency)};
}

FieldList MemoryProfile::fields() {
  return {{"main", "HBM or DRAM", object(&main), {.required = true}},
          {"cache", "last level shared by all cores", object(&cache), {.required = true}},
          number("usable", "capacity that the framework sees", &usable),
          number("cache_resident", "share of the cache within which kernels run at its rate",
                 &cache_resident),
          number("short_burst", "share of the rate with bursts of 128 B", &short_burst),
          optional_number("unaligned", "share of the rate where rows are unaligned", &unaligned,
                          "share")};
}

FieldList LaunchProfile::fields() {
  return {number("matrix_kernel", "fixed device time of a matrix kernel", &matrix_kernel),
          number("vector_kernel", "fixed device time of a vector kernel", &vector_kernel),
          number("host_dispatch", "host time of a launch, forward", &host_dispatch),
          number("host_dispatch_backward", "the same, backward", &host_dispatch_backward),
          number("collective_dispatch", "the same, of a collective", &collective_dispatch),
          number("submit", "second stage of a launch", &submit),
          number("workspace", "what TASK_QUEUE_ENABLE=2 moves there", &workspace),
          number("queue_depth", "launches the host may be ahead", &queue_depth),
          number("synchronize", "host time of a wait for the device", &synchronize)};
}

FieldList HostLinkProfile::fields() {
  return {number("bandwidth", "host to device", &bandwidth),
          number("latency", "of a copy", &latency)};
}

FieldList LinkProfile::fields() {
  return {
      choice("library", "of collectives", &library),
      choice("algorithm", "of collectives", &algorithm),
      number("devices", "directly linked", &devices),
      number("latency", "of a step", &latency),
      number("bandwidth", "of the ring, or of each link of the mesh", &bandwidth),
      number("reduce_bandwidth", "rate of summing; 0: free", &reduce_bandwidth),
      optional_number("hidden_share", "of communication beside compute", &hidden_share, "share"),
      number("timeout", "longest wait for the slowest rank", &timeout)};
}

FieldList SoftwareProfile::fields() {
  return {choice("mode", "what launches kernels in training", &mode),
          choice("score_mode", "the same where texts are scored", &score_mode),
          choice("generate_mode", "the same where texts are generated", &generate_mode),
          choice("tune_mode", "the same where SFT and RL train", &tune_mode),
          choice("fused_operators", "ops that are one kernel", &fused_operators),
          choice("task_queue", "TASK_QUEUE_ENABLE", &task_queue),
          choice("launch_blocking", "launches wait for their end", &launch_blocking),
          choice("copies_views", "strided operands are copied first", &copies_views),
          number("attention_row_values", "fp32 that attention keeps a row", &attention_row_values),
          number("attention_mask_side", "of the mask that attention keeps", &attention_mask_side),
          choice("out_of_memory", "whose words", &out_of_memory),
          choice("expandable_segments", "growing segments", &expandable_segments),
          {"alloc_conf", "options of the allocator: key:value,key:value", object(&alloc_conf)},
          number("padding", "added to every request", &padding),
          number("rounding", "of every request", &rounding),
          number("small_limit", "largest request of the small pool", &small_limit),
          number("small_segment", "segment of the small pool", &small_segment),
          number("large_segment", "segment of middling requests", &large_segment),
          number("large_limit", "requests from here have their own segment", &large_limit),
          number("large_rounding", "of those segments", &large_rounding),
          number("large_split_remainder", "a large block is split above this rest",
                 &large_split_remainder),
          number("driver_reserve", "context, taken from usable", &driver_reserve),
          number("communicator_buffers", "of a communicator", &communicator_buffers)};
}

FieldList CalibrationProfile::fields() {
  return {text("note", "what was fitted on what, with the error there", &note),
          {"fitted", "pointers of fitted constants", &fitted, {.required = true}}};
}

}  // namespace nb
