#include "harness/profiler/read_trace.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "harness/profiler/add_time.hpp"
#include "harness/profiler/time_text.hpp"
#include "harness/profiler/work.hpp"

namespace nb::profiler {
namespace {

using Json = nlohmann::json;

// The parts of an event that anyone here asks for.
struct Event {
  std::string phase, name, category, id, task_type, label, process, limiter;
  std::string shapes, types;  // of the operands: "2,3;3,4", "float;float"
  std::optional<std::int64_t> start_ns, duration_ns;
  std::optional<std::int64_t> correlation, external_id;
  double flop = -1, bytes = -1;

  void clear() {
    for (std::string* text :
         {&phase, &name, &category, &id, &task_type, &label, &process, &limiter, &shapes, &types})
      text->clear();
    start_ns.reset();
    duration_ns.reset();
    correlation.reset();
    external_id.reset();
    flop = bytes = -1;
  }
};

enum class Field : std::uint8_t {
  kNone,
  kPhase,
  kName,
  kCategory,
  kId,
  kStart,
  kDuration,
  kCorrelation,
  kExternalId,
  kShapes,
  kTypes,
  kTaskType,
  kLabel,
  kProcess,
  kLimiter,
  kFlop,
  kBytes,
};

Field field_of_event(std::string_view key) {
  if (key == "ph") return Field::kPhase;
  if (key == "name") return Field::kName;
  if (key == "cat") return Field::kCategory;
  if (key == "id") return Field::kId;
  if (key == "ts") return Field::kStart;
  if (key == "dur") return Field::kDuration;
  return Field::kNone;
}
Field field_of_arguments(std::string_view key) {
  if (key == "correlation") return Field::kCorrelation;
  if (key == "External id" || key == "external id") return Field::kExternalId;
  if (key == "Input Dims" || key == "Input dims") return Field::kShapes;
  if (key == "Input type") return Field::kTypes;
  if (key == "Task Type") return Field::kTaskType;
  if (key == "label") return Field::kLabel;
  if (key == "name") return Field::kProcess;
  if (key == "limiter") return Field::kLimiter;
  if (key == "flop") return Field::kFlop;
  if (key == "byte") return Field::kBytes;
  return Field::kNone;
}

// Of an operator of the framework whose work follows from them.
struct Operands {
  std::int64_t external_id = 0;
  TextId op = 0, shapes = 0, types = 0;
};

struct Issue {
  std::int64_t key = 0, issued_ns = 0;
};
bool by_key(const Issue& a, const Issue& b) { return a.key < b.key; }

// Of sorted issues; kUnknownTime: there is none.
std::int64_t issued_at(const std::vector<Issue>& issues, std::int64_t key) {
  const auto found = std::ranges::lower_bound(issues, Issue{key, 0}, by_key);
  return found != issues.end() && found->key == key ? found->issued_ns : kUnknownTime;
}

// Task types of "Ascend Hardware" (msprof's user guide): of kernels; of memory copies. The others
// are markers of the profiler, events of streams, and the single transfers and waits that a
// collective is made of, whose whole has a slice of its own.
bool is_kernel_task(std::string_view type) {
  return type.starts_with("AI_") || type.starts_with("MIX_AI") || type.starts_with("KERNEL_") ||
         type == "DSA_SQE";
}
bool is_copy_task(std::string_view type) {
  return type.find("MEMCPY") != type.npos || type == "PCIE_DMA_SQE" || type == "SDMA_SQE";
}

// nlohmann calls back for each token; nothing of the document is kept but what an event needs.
class Handler : public nlohmann::json_sax<Json> {
 public:
  Handler(Profile& profile, Rank& rank, TraceUse use) : profile_(profile), rank_(rank), use_(use) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t value) override { return take_whole(value); }
  bool number_unsigned(std::uint64_t value) override {
    return take_whole(value > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(value));
  }
  bool number_float(double value, const std::string& text) override {
    if (field_ == Field::kStart || field_ == Field::kDuration)
      take_time(text);
    else if (field_ == Field::kFlop)
      event_.flop = value;
    else if (field_ == Field::kBytes)
      event_.bytes = value;
    return true;
  }
  bool string(std::string& text) override {
    if (depth_ == 3 && in_devices_ && field_name_ == "name" && rank_.device.empty())
      rank_.device = text;
    switch (field_) {
      case Field::kPhase:
        event_.phase = text;
        break;
      case Field::kName:
        event_.name = text;
        break;
      case Field::kCategory:
        event_.category = text;
        break;
      case Field::kId:
        event_.id = text;
        break;
      case Field::kStart:
      case Field::kDuration:
        take_time(text);
        break;
      case Field::kTaskType:
        event_.task_type = text;
        break;
      case Field::kLabel:
        event_.label = text;
        break;
      case Field::kProcess:
        event_.process = text;
        break;
      case Field::kLimiter:
        event_.limiter = text;
        break;
      case Field::kTypes:
        if (list_depth_ > 0) event_.types += text + ";";
        break;
      default:
        break;
    }
    return true;
  }
  bool binary(Json::binary_t&) override { return true; }

  bool start_object(std::size_t) override {
    ++depth_;
    if (is_in_events() && depth_ == events_depth_ + 1) event_.clear();
    if (depth_ == 2 && top_key_ == "distributedInfo") is_distributed_ = true;
    return true;
  }
  bool end_object() override {
    if (is_in_events() && depth_ == events_depth_ + 1) take_event();
    if (depth_ == 2) is_distributed_ = false;
    --depth_;
    field_ = Field::kNone;
    return true;
  }
  bool start_array(std::size_t) override {
    ++depth_;
    if (depth_ == 1) events_depth_ = 1;  // Ascend: a bare list
    if (depth_ == 2 && top_key_ == "traceEvents") events_depth_ = 2;
    if (depth_ == 2) in_devices_ = top_key_ == "deviceProperties";
    if (field_ == Field::kShapes || field_ == Field::kTypes)
      ++list_depth_;  // [[2, 3], [3, 4]]: a list of tensors among them lies deeper
    else
      field_ = Field::kNone;
    return true;
  }
  bool end_array() override {
    if (list_depth_ > 0) {
      if (list_depth_ == 2 && field_ == Field::kShapes) event_.shapes += ';';
      if (--list_depth_ == 0) field_ = Field::kNone;
    }
    if (depth_ == events_depth_) events_depth_ = 0;
    if (depth_ == 2) in_devices_ = false;
    --depth_;
    return true;
  }
  bool key(std::string& text) override {
    field_ = Field::kNone;
    list_depth_ = 0;
    if (depth_ == 1) top_key_ = text;
    if (is_in_events()) {
      if (depth_ == events_depth_ + 1) {
        in_arguments_ = text == "args";
        field_ = field_of_event(text);
      } else if (depth_ == events_depth_ + 2 && in_arguments_) {
        field_ = field_of_arguments(text);
      }
    } else {
      field_name_ = text;
    }
    return true;
  }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& error) override {
    error_ = error.what();
    return false;
  }

  std::size_t events() const { return count_; }
  const std::string& error() const { return error_; }
  std::size_t untimed() const { return untimed_; }
  void finish();

 private:
  bool is_in_events() const { return events_depth_ > 0; }
  bool take_whole(std::int64_t value) {
    switch (field_) {
      case Field::kStart:
      case Field::kDuration:
        take_time(std::to_string(value));
        break;
      case Field::kId:
        event_.id = std::to_string(value);
        break;
      case Field::kCorrelation:
        event_.correlation = value;
        break;
      case Field::kExternalId:
        event_.external_id = value;
        break;
      case Field::kShapes:
        if (list_depth_ != 2)
          event_.shapes += '?';
        else if (!event_.shapes.empty() && event_.shapes.back() != ';')
          event_.shapes += ',' + std::to_string(value);
        else
          event_.shapes += std::to_string(value);
        break;
      case Field::kFlop:
        event_.flop = static_cast<double>(value);
        break;
      case Field::kBytes:
        event_.bytes = static_cast<double>(value);
        break;
      default:
        break;
    }
    if (is_distributed_ && depth_ == 2) {
      if (field_name_ == "rank" && value >= 0 && value < 10'000'000) rank_.rank = value;
      if (field_name_ == "world_size" && value >= 0) rank_.world_size = value;
    }
    return true;
  }
  void take_time(std::string_view text) {
    (field_ == Field::kStart ? event_.start_ns : event_.duration_ns) = ns_of(text);
  }
  void take_event();
  void take_slice();
  void take_flow();
  void add(OpClass op_class, std::string_view type, std::string_view core);
  void count_call(std::map<std::string, HostCall>& calls);

  Profile& profile_;
  Rank& rank_;
  TraceUse use_;
  int depth_ = 0, events_depth_ = 0, list_depth_ = 0;
  bool in_arguments_ = false, in_devices_ = false, is_distributed_ = false;
  std::string top_key_, field_name_;
  Field field_ = Field::kNone;
  Event event_;
  std::size_t count_ = 0, untimed_ = 0;
  std::string error_;
  std::int64_t last_issued_ns_ = kUnknownTime;  // of our own traces
  std::vector<Issue> by_correlation_;           // cuda_runtime
  // Of the kernels, in step with them.
  std::vector<std::int64_t> correlations_, external_ids_;
  std::vector<Operands> operands_;
  std::unordered_map<std::string, std::int64_t> flow_starts_;
  std::vector<Issue> by_start_;  // Ascend's flows end where a kernel starts
  std::vector<std::pair<std::int64_t, std::string>> waiting_flows_;
  std::vector<StepWindow> device_windows_;
};

void Handler::take_event() {
  ++count_;
  if (event_.phase == "X")
    take_slice();
  else if (event_.phase == "s" || event_.phase == "f")
    take_flow();
  else if (event_.phase == "M" && event_.name == "process_name" && rank_.device.empty() &&
           profile_.kind != Kind::kTorch)
    rank_.device = event_.process;  // npubench: the profile; Ascend's are cleared in finish()
}

void Handler::count_call(std::map<std::string, HostCall>& calls) {
  HostCall& call = calls[event_.name];
  add_time(call.total_ns, *event_.duration_ns);
  call.longest_ns = std::max(call.longest_ns, *event_.duration_ns);
  ++call.count;
}

void Handler::add(OpClass op_class, std::string_view type, std::string_view core) {
  Kernel kernel;
  kernel.start_ns = *event_.start_ns;
  kernel.duration_ns = *event_.duration_ns;
  kernel.name = profile_.texts.id_of(event_.name);
  kernel.type = profile_.texts.id_of(type);
  kernel.core = profile_.texts.id_of(core);
  kernel.op_class = op_class;
  kernel.flop = event_.flop;
  kernel.bytes = event_.bytes;
  rank_.kernels.push_back(kernel);
}

void Handler::take_slice() {
  const std::string& category = event_.category;
  if (!event_.start_ns || !event_.duration_ns || *event_.duration_ns < 0 || *event_.start_ns < 0) {
    ++untimed_;
    return;
  }
  if (!event_.limiter.empty()) {  // ours
    profile_.kind = Kind::kNpubench;
    profile_.clock = Clock::kSim;
    const bool is_communication = event_.limiter == "link";
    add(class_of_own_kernel(category, event_.name, is_communication), category, "");
    rank_.kernels.back().issued_ns = last_issued_ns_;
    rank_.kernels.back().label = profile_.texts.id_of(event_.label);
    return;
  }
  if (category == "host" && event_.name.starts_with("launch ")) {
    last_issued_ns_ = *event_.start_ns;
    return;
  }
  if (category == "kernel" || category == "Kernel") {
    profile_.kind = Kind::kTorch;
    profile_.is_gpu = true;
    add(class_of_gpu_kernel(event_.name), "", "");
    correlations_.push_back(event_.correlation.value_or(-1));
    external_ids_.push_back(event_.external_id.value_or(-1));
    return;
  }
  if (category == "gpu_memcpy" || category == "gpu_memset" || category == "Memcpy" ||
      category == "Memset") {
    profile_.kind = Kind::kTorch;
    profile_.is_gpu = true;
    add(OpClass::kMemoryCopy, "", "");
    correlations_.push_back(event_.correlation.value_or(-1));
    external_ids_.push_back(event_.external_id.value_or(-1));
    return;
  }
  if (category == "cuda_runtime" || category == "hip_runtime" || category == "cuda_driver" ||
      category == "Runtime") {
    if (event_.correlation) by_correlation_.push_back({*event_.correlation, *event_.start_ns});
    count_call(rank_.apis);
    return;
  }
  if (event_.name.starts_with("ProfilerStep#")) {
    auto& windows = category == "gpu_user_annotation" ? device_windows_ : rank_.windows;
    windows.push_back(
        {event_.name.substr(13), *event_.start_ns, *event_.start_ns + *event_.duration_ns});
    return;
  }
  if (event_.name.find("DataLoader") != std::string::npos &&
      event_.name.find("__next__") != std::string::npos)
    rank_.loading.push_back({"", *event_.start_ns, *event_.start_ns + *event_.duration_ns});
  // torch_npu with gc_detect_threshold; msprof-analyze knows it by its category.
  if (category == "GC" || category == "gc")
    rank_.collecting.push_back({"", *event_.start_ns, *event_.start_ns + *event_.duration_ns});
  if (use_.only_issues) return;
  if (category == "cpu_op" || category == "Operator") {
    count_call(rank_.operators);
    if (event_.external_id && !event_.shapes.empty() && has_known_work(event_.name))
      operands_.push_back({*event_.external_id, profile_.texts.id_of(event_.name),
                           profile_.texts.id_of(event_.shapes),
                           profile_.texts.id_of(event_.types)});
    return;
  }
  if (!category.empty()) return;
  // A slice of Ascend's hardware, or the whole of a collective.
  if (event_.name.starts_with("hcom_")) {
    add(OpClass::kCommunication, "", "HCCL");
  } else if (is_copy_task(event_.task_type)) {
    add(OpClass::kMemoryCopy, "", event_.task_type);
  } else if (is_kernel_task(event_.task_type)) {
    add(class_of_npu_kernel(event_.name, "", event_.task_type), "", event_.task_type);
  }
}

void Handler::take_flow() {
  if (!event_.start_ns || event_.id.empty()) return;
  if (event_.category != "HostToDevice" && event_.category != "async_npu") return;
  const std::string key = event_.category + event_.id;
  if (event_.phase == "s")
    flow_starts_.emplace(key, *event_.start_ns);
  else
    waiting_flows_.emplace_back(*event_.start_ns, key);
}

void Handler::finish() {
  std::ranges::sort(by_correlation_, by_key);
  // HostToDevice is the launch itself; async_npu the op that asked for it: the later counts.
  for (const auto& [start, key] : waiting_flows_)
    if (const auto found = flow_starts_.find(key); found != flow_starts_.end())
      by_start_.push_back({start, found->second});
  std::ranges::sort(by_start_, [](const Issue& a, const Issue& b) {
    return std::pair(a.key, -a.issued_ns) < std::pair(b.key, -b.issued_ns);
  });
  for (std::size_t i = 0; i < correlations_.size(); ++i)
    if (correlations_[i] >= 0)
      rank_.kernels[i].issued_ns = issued_at(by_correlation_, correlations_[i]);
  std::ranges::sort(operands_, {}, &Operands::external_id);
  for (std::size_t i = 0; i < external_ids_.size(); ++i) {
    const auto found =
        std::ranges::lower_bound(operands_, external_ids_[i], {}, &Operands::external_id);
    if (found == operands_.end() || found->external_id != external_ids_[i]) continue;
    rank_.kernels[i].op = found->op;
    rank_.kernels[i].input_shapes = found->shapes;
    rank_.kernels[i].data_types = found->types;
  }
  if (!by_start_.empty())
    for (Kernel& kernel : rank_.kernels)
      if (kernel.issued_ns == kUnknownTime)
        kernel.issued_ns = issued_at(by_start_, kernel.start_ns);
  if (profile_.kind == Kind::kAscend || profile_.kind == Kind::kMsprof) rank_.device.clear();
  if (rank_.windows.empty()) rank_.windows = std::move(device_windows_);
  std::ranges::sort(rank_.windows, {}, &StepWindow::start_ns);
  if (use_.only_issues || rank_.windows.empty()) return;
  // A kernel belongs to the step that issued it, else to the one in which it runs.
  for (Kernel& kernel : rank_.kernels) {
    const std::int64_t at = kernel.issued_ns == kUnknownTime ? kernel.start_ns : kernel.issued_ns;
    for (const StepWindow& window : rank_.windows)
      if (at >= window.start_ns && at < window.end_ns)
        kernel.step = profile_.texts.id_of(window.step);
  }
}

// nlohmann's "… parse error at line 1, column 300001: …" → "1:300001".
std::string line_in(const std::string& error) {
  constexpr std::string_view kLine = "at line ", kColumn = ", column ";
  const std::size_t line = error.find(kLine), column = error.find(kColumn);
  if (line == error.npos || column == error.npos || column < line) return "end";
  const std::size_t behind = column + kColumn.size();
  return error.substr(line + kLine.size(), column - line - kLine.size()) + ":" +
         error.substr(behind, error.find_first_not_of("0123456789", behind) - behind);
}

}  // namespace

Result<void> read_trace(std::istream& bytes, const std::string& where, TraceUse use,
                        Profile& profile, Rank& rank) {
  Handler handler(profile, rank, use);
  const bool is_whole = Json::sax_parse(bytes, &handler);
  if (!is_whole)
    return bad_input(
        fmt::format("{}:{}: cut or damaged, after {} events: copy it again, or profile fewer steps",
                    where, line_in(handler.error()), handler.events()));
  handler.finish();
  if (handler.untimed() > 0)
    profile.notes.push_back({"note.untimed", {where, std::to_string(handler.untimed())}});
  if (rank.kernels.empty() && !use.only_issues)
    return bad_input(
        fmt::format("{}: no kernel of a GPU, an NPU or a simulated device among its {} events",
                    where, handler.events()));
  return {};
}

}  // namespace nb::profiler
