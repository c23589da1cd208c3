#include "harness/profiler/sentences.hpp"

#include <unordered_map>

#include "harness/base/check.hpp"

namespace nb::profiler {
namespace {

constexpr SentenceRow kSentences[] = {
    // headline and summary
    {"head.rank", "rank {0}, step {1}", "rank {0}，第 {1} 步"},
    {"head.rank_all", "rank {0}, whole trace", "rank {0}，整个 trace"},
    {"head.with_stack", "with stacks: host times are inflated", "带调用栈：主机时间偏大"},
    {"head.sim", "simulated clock", "模拟时钟"},
    {"head.more_ranks", "{0} ranks; details are of rank {1} (--rank N for another)",
     "共 {0} 个 rank；细节为 rank {1}（用 --rank N 选择其他）"},
    {"sum.computing", "computing", "计算"},
    {"sum.not_overlapped", "communication, not hidden", "未掩盖的通信"},
    {"sum.free", "free (host, nothing runs)", "空闲（主机侧，设备无任务）"},
    {"sum.copies", "memory copies alone", "仅内存拷贝"},
    {"sum.bubble", "of it pipeline bubble", "其中流水线气泡"},
    {"sum.collectives", "of all {0} ms: transfer {1}, waiting for ranks {2}, idle {3}",
     "总计 {0} ms：传输 {1}，等待其他 rank {2}，空转 {3}"},
    {"sum.hidden", "{0} of {1} ms are hidden ({2})", "{1} ms 中有 {0} ms 被掩盖（{2}）"},
    {"sum.gaps", "{0} gaps over 100 us hold {1}", "{0} 个超过 100 us 的空隙共 {1}"},
    {"sum.verdict", "Verdict {0}", "结论 {0}"},
    {"sum.no_parts", "no times of steps and no kernels in it", "其中没有步时间，也没有算子"},

    // tables
    {"table.steps", "steps (times in us)", "步（时间单位 us）"},
    {"table.classes", "classes (us; share of compute)", "类别（us；占计算的比例）"},
    {"table.types", "types of kernels (us; share of compute)", "算子类型（us；占计算的比例）"},
    {"table.kernels", "kernels (us; by total time)", "算子（us；按总时间）"},
    {"table.communication", "communication (us)", "通信（us）"},
    {"table.traffic", "traffic of links over time (as the profiler names it)",
     "链路流量（按采集器的名称）"},
    {"table.idle", "idle: gaps of the device (us)", "空闲：设备的空隙（us）"},
    {"table.host", "host (us)", "主机（us）"},
    {"table.memory", "memory (MB)", "内存（MB）"},
    {"table.ranks", "ranks (us)", "各 rank（us）"},
    {"table.environment", "environment", "环境变量"},
    {"table.expectation", "expectation (us; measured beside the simulated device)",
     "预期（us；实测与模拟设备对照）"},
    {"table.waterfall", "waterfall (us a step)", "差异分解（us/步）"},
    {"table.pairs", "largest differences by kernel (us a step)", "差异最大的算子（us/步）"},
    {"table.constants", "constants", "常数"},
    {"table.more", "… and {0} more (--top, --json, --csv)",
     "……另有 {0} 行（--top、--json、--csv）"},
    {"column.rank", "rank", "rank"},
    {"column.step", "step", "步"},
    {"column.from", "from", "来源"},
    {"column.stage", "stage", "总计"},
    {"column.computing", "computing", "计算"},
    {"column.computing_share", "share", "占比"},
    {"column.not_overlapped", "not hidden", "未掩盖"},
    {"column.not_overlapped_share", "share", "占比"},
    {"column.overlapped", "hidden", "已掩盖"},
    {"column.communication", "communication", "通信"},
    {"column.copies", "copies", "拷贝"},
    {"column.free", "free", "空闲"},
    {"column.free_share", "share", "占比"},
    {"column.bubble", "bubble", "气泡"},
    {"column.class", "class", "类别"},
    {"column.count", "count", "次数"},
    {"column.total", "total", "总计"},
    {"column.share", "share", "占比"},
    {"column.mean", "mean", "平均"},
    {"column.shortest", "min", "最短"},
    {"column.longest", "max", "最长"},
    {"column.name", "name", "名称"},
    {"column.type", "type", "类型"},
    {"column.listed", "op_statistic", "op_statistic"},
    {"column.shapes", "shapes", "形状"},
    {"column.data_types", "data types", "数据类型"},
    {"column.flop", "FLOP", "FLOP"},
    {"column.bytes", "bytes", "字节"},
    {"column.tflops", "TFLOP/s", "TFLOP/s"},
    {"column.tbs", "TB/s", "TB/s"},
    {"column.bound", "bound", "瓶颈"},
    {"column.sibling_ratio", "sibling", "同类比"},
    {"column.l2_hit", "L2 hit", "L2 命中"},
    {"column.block_dim", "blocks", "block 数"},
    {"column.kind", "kind", "种类"},
    {"column.group", "group", "通信域"},
    {"column.elapse", "elapse", "耗时"},
    {"column.transfer", "transfer", "传输"},
    {"column.wait", "wait", "等待"},
    {"column.idle", "idle", "空转"},
    {"column.link", "link", "链路"},
    {"column.megabytes", "MB", "MB"},
    {"column.gbs", "GB/s", "GB/s"},
    {"column.small_share", "small", "小包"},
    {"column.mode", "mode", "模式"},
    {"column.lowest", "min", "最小"},
    {"column.highest", "max", "最大"},
    {"column.average", "mean", "平均"},
    {"column.samples", "samples", "样本数"},
    {"column.cause", "cause", "原因"},
    {"column.before", "behind", "前一算子"},
    {"column.after", "before", "后一算子"},
    {"column.allocated_mb", "allocated", "已分配"},
    {"column.reserved_mb", "reserved", "已预留"},
    {"column.over_mean", "over mean", "高于均值"},
    {"column.value", "value", "值"},
    {"column.measured", "measured", "实测"},
    {"column.expected", "expected", "预期"},
    {"column.ratio", "ratio", "比值"},
    {"column.part", "part", "部分"},
    {"column.a", "A", "A"},
    {"column.b", "B", "B"},
    {"column.difference", "B − A", "B − A"},
    {"column.count_a", "count A", "次数 A"},
    {"column.count_b", "count B", "次数 B"},
    {"column.low", "low", "下限"},
    {"column.high", "high", "上限"},
    {"column.n", "n", "n"},
    {"column.shipped", "shipped", "自带值"},
    {"column.how", "how", "方法"},
    {"from.file", "file", "文件"},
    {"from.kernels", "kernels", "算子"},
    {"kind.collective", "collective", "集合通信"},
    {"kind.p2p", "point to point", "点对点"},
    {"kind.api", "API", "API"},
    {"kind.operator", "operator", "框架算子"},
    {"bound.compute", "compute", "计算"},
    {"bound.memory", "memory", "访存"},
    {"bound.vector", "vector", "向量"},
    {"bound.none", "none", "无"},
    {"gap.host", "issued late by the host", "主机：下一算子下发太晚"},
    {"gap.kernel", "between kernels", "算子之间（小于 10 us）"},
    {"gap.synchronize", "held back on the device", "已下发，在设备上等待"},
    {"gap.loader", "data loader", "数据加载"},
    {"gap.collector", "garbage collection", "垃圾回收"},
    {"gap.unknown", "unknown", "未知（没有下发时间）"},
    {"memory.component", "component", "组件"},
    {"memory.module", "module", "模块"},
    {"memory.alive", "alive at the peak", "峰值时存活"},
    {"matmul", "matmul", "矩阵乘"},
    {"attention", "attention", "注意力"},
    {"convolution", "convolution", "卷积"},
    {"norm", "norm", "归一化"},
    {"softmax/loss", "softmax/loss", "softmax/损失"},
    {"embedding", "embedding", "嵌入"},
    {"elementwise", "elementwise", "逐元素"},
    {"reduce", "reduce", "归约"},
    {"optimizer", "optimizer", "优化器"},
    {"layout", "layout", "格式转换"},
    {"AI CPU", "AI CPU", "AI CPU"},
    {"communication", "communication", "通信"},
    {"memory copy", "memory copy", "内存拷贝"},
    {"other", "other", "其他"},
    {"part.not_overlapped", "communication not hidden", "未掩盖的通信"},
    {"part.copies", "copies", "拷贝"},
    {"part.free", "free", "空闲"},
    {"part.bubble", "bubble", "气泡"},
    {"part.unlisted", "computing, kernels not listed", "计算（未列出的算子）"},
    {"part.rest", "rounding of the files", "文件舍入"},
    {"part.all", "step", "整步"},

    {"plot.whole", "step", "整步"},
    {"plot.longer", "B longer", "B 更长"},
    {"plot.shorter", "B shorter", "B 更短"},
    {"report.title", "Profile: {0}", "性能剖析：{0}"},

    // notes
    {"note.ragged", "{0}:{1}: {2} cells where the header has {3}; {4} such rows are left out",
     "{0}:{1}：有 {2} 个单元格，表头为 {3} 个；共 {4} 行不计"},
    {"note.untimed", "{0}: {1} rows without a time are left out", "{0}：{1} 行没有时间，不计"},
    {"note.cluster_rows", "{0}: {1} rows, {2} ranks", "{0}：{1} 行，{2} 个 rank"},
    {"note.parts_defect", "rank {0}, step {1}: the parts differ from the whole by {2} us",
     "rank {0} 第 {1} 步：各部分之和与总计相差 {2} us"},
    {"note.disagree",
     "rank {0}, step {1}: step_trace_time.csv says computing {2} and free {4} us, the kernels that "
     "are listed {3} and {5}",
     "rank {0} 第 {1} 步：step_trace_time.csv 的计算 {2}、空闲 {4} us，而列出的算子为 {3} 与 {5}"},
    {"note.kernels",
     "rank {0}: {1} kernels, {2} us; {3} compute {4} us, {5} communicate {6} us ({7})",
     "rank {0}：{1} 个算子，{2} us；其中 {3} 个计算 {4} us，{5} 个通信 {6} us（{7}）"},
    {"note.op_statistic", "rank {0}: op_statistic.csv sums to {1} us, the kernels to {2}",
     "rank {0}：op_statistic.csv 合计 {1} us，算子合计 {2}"},
    {"note.l2",
     "L2: {0} kernels of {2} us find {1} of what they read in it (l2_cache.csv, by time)",
     "L2：{0} 个算子（{2} us）的读命中率 {1}（l2_cache.csv，按时间加权）"},
    {"note.unmatched", "{0} of compute is of no known class", "{0} 的计算不属于任何已知类别"},
    {"note.communication_sum", "{1} of kind {0}: elapse {2} ms, transfer {3}, wait {4}, idle {5}",
     "{1} 次（{0}）：耗时 {2} ms，传输 {3}，等待 {4}，空转 {5}"},
    {"note.overlap", "hidden: {0} of {1} us ({2})", "已掩盖：{1} us 中的 {0}（{2}）"},
    {"note.gaps", "{0} gaps, {1} us; {2} of them over 100 us hold {3} us",
     "{0} 个空隙，共 {1} us；其中 {2} 个超过 100 us，共 {3} us"},
    {"note.memory_peak",
     "peak {0} MB allocated, {1} reserved, at {2}; {3} allocations alive then hold {4} MB, {5} are "
     "older than the profile; {6} of {7} were never released",
     "峰值已分配 {0} MB，预留 {1} MB，在 {2}；当时存活的 {3} 次分配占 {4} MB，{5} MB 早于本次采集；"
     "{7} 次中有 {6} 次未释放"},
    {"note.explained",
     "{0} explains {1} of the kernels' time: {2} us measured, {3} expected, ratio {4}",
     "{0} 可解释算子时间的 {1}：实测 {2} us，预期 {3}，比值 {4}"},
    {"note.no_expectation", "no expectation: {0}, {1} us", "没有预期：{0}，{1} us"},
    {"note.hccl",
     "HCCL holds {0} MB: 2 buffers of {1} MB (HCCL_BUFFSIZE) x {2} communicators = {3}",
     "HCCL 占 {0} MB：2 个 {1} MB 缓冲（HCCL_BUFFSIZE）x {2} 个通信域 = {3}"},
    {"note.mean_of_steps",
     "A has {0} steps, B {1}: figures are a step's mean. Over all steps A computes {2} us in {3} "
     "kernels, B {4} in {5}: {6} us",
     "A 有 {0} 步，B 有 {1} 步：数值为每步平均。所有步合计 A 计算 {2} us（{3} 个算子），B {4}（{5} "
     "个）：{6} us"},
    {"note.per_token", "B is scaled from {1} to A's {0} tokens per step",
     "B 由每步 {1} 个 token 折算为 A 的 {0} 个"},
    {"note.levels", "levels differ ({0}, {1}): host times are not comparable",
     "级别不同（{0}、{1}）：主机时间不可比"},
    {"note.stacks", "only one of them was taken with stacks: host times are not comparable",
     "只有一方带调用栈：主机时间不可比"},
    {"note.first_step", "{0} has the first step, which compiles: --step steady leaves it out",
     "{0} 含有会编译的第一步：可用 --step steady 去掉"},
    {"absent.steps", "step_trace_time.csv is not there: no times of steps by the profiler",
     "没有 step_trace_time.csv：没有采集器给出的步时间"},
    {"absent.kernels", "kernel_details.csv is not there: no classes and kernels",
     "没有 kernel_details.csv：没有类别与算子"},
    {"absent.communication", "communication.json needs level 1: no table of collectives",
     "communication.json 需要 level 1：没有集合通信表"},
    {"absent.memory", "operator_memory.csv needs profile_memory: no table of allocations",
     "operator_memory.csv 需要 profile_memory：没有分配表"},
    {"absent.apis", "api_statistic.csv needs level 1: no times of the host's API",
     "api_statistic.csv 需要 level 1：没有主机 API 时间"},

    // verdicts
    {"verdict.late_rank",
     "Look at the late rank, not at the host: of {0} ms in collectives {1} ({2}) wait for other "
     "ranks, {3} are idle, {4} transfer.",
     "请查迟到的 rank，而不是主机：集合通信 {0} ms 中有 {1}（{2}）在等待其他 rank，{3} 空转，{4} "
     "传输。"},
    {"remedy.late_rank",
     "profile the other ranks too: the one that waits least is late (data, CPU affinity, another "
     "job)",
     "同时采集其他 rank：等待最少的就是迟到者（数据、CPU 亲和、其他任务）"},
    {"verdict.not_the_network",
     "Communication is not slow: {0} of it moves data. It waits for the host that issues it. Not a "
     "network problem.",
     "通信并不慢：只有 {0} 的时间在传数据，其余在等主机下发。不是网络问题。"},
    {"verdict.slow_transfer", "{0} of the time in collectives moves data ({1} ms): the link counts",
     "集合通信时间的 {0} 在传数据（{1} ms）：取决于链路"},
    {"verdict.host_limits",
     "The host is the limit: {0} ms ({1} idle inside collectives + {2} free); {3} kernels, mean "
     "{4} "
     "us, {5} under 10 us.",
     "瓶颈在主机：{0} ms（集合通信内空转 {1} + 空闲 {2}）；{3} 个算子，平均 {4} us，{5} 个不足 10 "
     "us。"},
    {"remedy.host_npu",
     "TASK_QUEUE_ENABLE=2, CPU_AFFINITY_CONF=1, larger batches, fused operators, graphs",
     "TASK_QUEUE_ENABLE=2、CPU_AFFINITY_CONF=1、更大的批次、融合算子、图模式"},
    {"remedy.host_gpu", "torch.compile, CUDA graphs, larger batches, fewer synchronisations",
     "torch.compile、CUDA graph、更大的批次、更少的同步"},
    {"verdict.layout", "{0} of compute changes layout ({1} {2} x, {3} ms)",
     "{0} 的计算用于格式转换（{1} {2} 次，{3} ms）"},
    {"remedy.layout", "torch.npu.config.allow_internal_format = False",
     "torch.npu.config.allow_internal_format = False"},
    {"verdict.slow_sibling",
     "{0} {1} us reads {2} MB of weights at {3} TB/s; its sibling reaches {4}: {5} times slower. "
     "Block dim {6} of {7}",
     "{0} {1} us 以 {3} TB/s 读取 {2} MB 权重；同类可达 {4}：慢 {5} 倍。Block dim {6}/{7}"},
    {"verdict.small_packets",
     "{0} of {1} collectives move up to {2} of their bytes in small packets",
     "{1} 次集合通信中有 {0} 次以小包传输，最多占 {2}"},
    {"remedy.small_packets", "larger buckets (bucket_cap_mb), fewer and larger collectives",
     "更大的桶（bucket_cap_mb），更少而更大的集合通信"},
    {"verdict.sdma_rate",
     "{0} of {1} collectives move data at less than 14.4 GB/s a link (SDMA), the slowest at {2}",
     "{1} 次集合通信中有 {0} 次每条链路低于 14.4 GB/s（SDMA），最慢 {2}"},
    {"verdict.retransmission", "{0} takes {1} ms and moves data for {2}: packets are sent again",
     "{0} 耗时 {1} ms，传输仅 {2}：存在重传"},
    {"remedy.retransmission", "hccn_tool -stat: roce_new_pkt_rty_num; cables, switch, HCCL_RDMA_TC",
     "hccn_tool -stat 的 roce_new_pkt_rty_num；线缆、交换机、HCCL_RDMA_TC"},
    {"verdict.synchronize", "{0} of the host's API time is SynchronizeStream ({1} ms)",
     "主机 API 时间的 {0} 为 SynchronizeStream（{1} ms）"},
    {"remedy.synchronize", "ASCEND_LAUNCH_BLOCKING=0; no .item(), .cpu() or print in the step",
     "ASCEND_LAUNCH_BLOCKING=0；步内不要 .item()、.cpu()、print"},
    {"verdict.launch_blocking", "It was taken with ASCEND_LAUNCH_BLOCKING=1: every launch waits",
     "采集时 ASCEND_LAUNCH_BLOCKING=1：每次下发都等待"},
    {"remedy.launch_blocking", "unset it and profile again", "取消后重新采集"},
    {"verdict.ai_cpu", "{0} kernels run on the AI CPU: {1} ms, {2} of compute ({3})",
     "{0} 个算子在 AI CPU 上：{1} ms，占计算 {2}（{3}）"},
    {"remedy.ai_cpu", "other data types (int64 to int32), or an operator with an AI Core kernel",
     "换数据类型（int64 改 int32），或改用有 AI Core 实现的算子"},
    {"verdict.loader", "The data loader holds the host for up to {0} ms",
     "数据加载最长占用主机 {0} ms"},
    {"remedy.loader", "more workers, pin_memory, prefetch", "更多 worker、pin_memory、预取"},
    {"verdict.garbage",
     "Python's garbage collection holds the host for up to {0} ms ({1} times over 1 ms, {2} ms)",
     "Python 垃圾回收最长占用主机 {0} ms（超过 1 ms 的 {1} 次，共 {2} ms）"},
    {"remedy.garbage",
     "gc.freeze() before the loop, gc.disable() in it and gc.collect() now and then",
     "循环前 gc.freeze()，循环内 gc.disable()，并定期 gc.collect()"},
    {"verdict.slow_rank", "Rank {0} computes {1} longer than the mean: {2} ms against {3}",
     "rank {0} 的计算比均值长 {1}：{2} ms 对 {3}"},
    {"verdict.slow_link", "{0} from rank {1} to {2} moves {3} GB/s, the median of its kind is {4}",
     "{0} 从 rank {1} 到 {2} 为 {3} GB/s，同类中位数 {4}"},
    {"verdict.part", "{0}: {1} ms ({2} of the difference)", "{0}：{1} ms（占差异的 {2}）"},
    {"verdict.equal", "The two do not differ", "两者没有差异"},

    // fit
    {"fit.kept", "{0}: not fitted, {1}; {2} stays", "{0}：未拟合，{1}；保持 {2}"},
    {"fit.few_products",
     "{0} products whose bound is compute with {1} of compute; at least 20 with 10 % are needed",
     "受计算限制的矩阵乘有 {0} 个，占计算 {1}；至少需要 20 个、10 %"},
    {"fit.few_streams",
     "{0} kernels that stream from memory with {1} of compute; at least 4 with 10 % are needed",
     "受显存带宽限制的算子有 {0} 个，占计算 {1}；至少需要 4 个、10 %"},
    {"fit.few_attention", "{0} attention kernels with shapes; at least 4 are needed",
     "有形状的注意力算子 {0} 个；至少需要 4 个"},
    {"fit.no_shapes", "the profile has no shapes (level 1 and record_shapes)",
     "没有形状（需要 level 1 与 record_shapes）"},
    {"fit.with_stack", "with_stack or profile_memory inflates host times (naive {0} us a kernel)",
     "with_stack 或 profile_memory 使主机时间偏大（粗算每算子 {0} us）"},
    {"fit.no_host_bound", "{0} kernels for which the device waited; at least 20 are needed",
     "设备等待的算子 {0} 个；至少需要 20 个"},
    {"fit.few_sizes", "{0} sizes of collectives over a factor {1}; at least 3 over 8 are needed",
     "集合通信大小 {0} 种，跨度 {1} 倍；至少需要 3 种、8 倍"},
    {"fit.bad_line", "the line through sizes and times has no positive slope",
     "大小与时间的直线斜率不为正"},
    {"fit.few_ranks", "one rank; at least 2 are needed", "只有一个 rank；至少需要 2 个"},
    {"fit.no_collectives", "no communication.json (level 1)", "没有 communication.json（level 1）"},
    {"fit.over_limit", "{0} lies beyond its physical limit of {1}", "{0} 超过物理上限 {1}"},
    {"fit.check",
     "check on the half that did not fit: {0} kernels, mean relative error {1} (shipped constants "
     "{2})",
     "用未参与拟合的一半检验：{0} 个算子，平均相对误差 {1}（自带常数 {2}）"},
    {"fit.no_check", "no kernel is left to check with", "没有可用于检验的算子"},
};

const SentenceRow* find(std::string_view key) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const SentenceRow*> rows;
    for (const SentenceRow& row : kSentences) rows.emplace(row.key, &row);
    return rows;
  }();
  const auto found = index.find(key);
  return found == index.end() ? nullptr : found->second;
}

}  // namespace

std::span<const SentenceRow> sentence_rows() { return kSentences; }

std::string text_of(const Said& said, Language language) {
  const SentenceRow* row = find(said.key);
  NB_CHECK(row != nullptr, "[profiler] no sentence {}", said.key);
  const std::string_view text = language == Language::kZh ? row->zh : row->en;
  std::string filled;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' && i + 2 < text.size() && text[i + 2] == '}') {
      const auto place = static_cast<std::size_t>(text[i + 1] - '0');
      if (place < said.arguments.size()) {
        filled += said.arguments[place];
        i += 2;
        continue;
      }
    }
    filled += text[i];
  }
  return filled;
}

std::string word(std::string_view key, Language language) {
  const SentenceRow* row = find(key);
  if (row == nullptr) return std::string(key);
  return std::string(language == Language::kZh ? row->zh : row->en);
}

}  // namespace nb::profiler
