// The sentences of reports: key, English, Chinese. {} takes what the code gives, in order, or {0},
// {1} where a language needs another order. English "one|many" where Words::count asks. Included by
// words.hpp alone.
#pragma once

#include <string_view>

namespace nb {

struct PhraseRow {
  std::string_view key, en, zh;
};

inline constexpr PhraseRow kPhrases[] = {
    // titles of sections
    {"title_verdict", "Verdict", "结论"},
    {"title_checks", "Checks of the gate", "门禁检查"},
    {"title_confounders", "Confounders", "混杂因素"},
    {"title_scores", "Scores", "得分"},
    {"title_attribution", "Attribution", "归因"},
    {"title_speed", "Throughput and memory by clock", "吞吐量与内存（按时钟）"},
    {"title_training", "Loss curves", "损失曲线"},
    {"title_flips", "Flips", "翻转的题目"},
    {"title_trends", "Trends", "趋势"},
    {"title_card", "Report card", "成绩单"},
    {"title_numerics", "Numerics card", "数值卡"},
    {"title_environment", "Environment", "环境"},
    {"title_reproduce", "How to reproduce", "如何复现"},
    {"title_benchmarks", "Microbenchmarks", "微基准测试"},
    {"title_inventory", "Inventory and keys", "清单与键"},
    {"contents", "Contents", "目录"},

    // words of tables
    {"model", "model", "模型"},
    {"task", "task", "任务"},
    {"node", "node", "节点"},
    {"metric", "metric", "指标"},
    {"value", "value", "值"},
    {"device", "device", "设备"},
    {"seed", "seed", "种子"},
    {"seeds", "seeds", "种子数"},
    {"items", "items", "题数"},
    {"chance", "chance", "随机水平"},
    {"score", "score", "得分"},
    {"verdict", "verdict", "结论"},
    {"what", "what", "内容"},
    {"why", "why", "原因"},
    {"field", "field", "字段"},
    {"pairs", "pairs", "对数"},
    {"baseline", "baseline", "基线"},
    {"candidate", "candidate", "候选"},
    {"interval95", "95 % interval", "95 % 区间"},
    {"over_items95", "95 % over items", "95 % 区间（按题目）"},
    {"shown", "shown", "显示"},
    {"note", "note", "备注"},
    {"kind", "kind", "类别"},
    {"name", "name", "名称"},
    {"status", "status", "状态"},
    {"key", "key", "键"},
    {"from", "from", "来源"},
    {"records", "records", "记录数"},
    {"item", "item", "项目"},
    {"source", "source", "出处"},
    {"step", "step", "步"},
    {"steps", "steps", "步数"},
    {"tokens", "tokens", "词元数"},
    {"hours", "hours", "小时"},
    {"card_hours", "card-hours", "卡时"},
    {"prediction", "prediction", "预测"},
    {"fits", "fits", "放得下"},
    {"rows_a_card", "rows per card", "每卡行数"},
    {"yes", "yes", "是"},
    {"fits_not", "no; {} rows would", "否；{} 行可以"},
    {"step_time", "step time", "单步时间"},
    {"throughput", "throughput", "吞吐量"},
    {"peak_memory", "peak memory", "峰值内存"},
    {"evaluated_on", "evaluated on", "评测设备"},
    {"weights", "weights", "权重"},
    {"factor", "factor", "因素"},
    {"high_low", "high − low", "高 − 低"},
    {"training_loss", "training loss", "训练损失"},
    {"validation", "validation", "验证"},
    {"validation_bpb", "validation bits per byte", "验证集每字节比特数"},
    {"name_seed", "{}, seed {}", "{}，种子 {}"},
    {"name_trained_on", "{} (trained on {})", "{}（训练于 {}）"},

    // what a difference shows
    {"shown_equal", "equal", "相等"},
    {"shown_better", "B better", "B 更好"},
    {"shown_worse", "B worse", "B 更差"},
    {"shown_not", "not established", "未证实"},
    {"shown_not_visible", "not established (a change of {} would have shown)",
     "未证实（变化 {} 即可检出）"},
    {"cell_better", "better", "更好"},
    {"cell_worse", "worse", "更差"},
    {"no_difference", "no difference", "无差异"},

    // the first screen
    {"no_records", "This run has no finished record, so there is nothing to report.",
     "这次运行没有已完成的记录，因此无可报告。"},
    {"headline_nothing",
     "Nothing to compare with: one device and no baseline. The scores stand below.",
     "没有可比较的对象：只有一台设备，也没有基线。得分见下。"},
    {"headline_no_scores", "{0} against {1}: no score can be judged.",
     "{0} 与 {1} 相比：没有可以判断的得分。"},
    {"headline_incomparable", "INCOMPARABLE: {0} against {1}: {2}",
     "INCOMPARABLE（不可比）：{0} 与 {1}：{2}"},
    {"headline_sides", "{0} (B) against {1} (A): {2}", "{0}（B）与 {1}（A）相比：{2}"},
    {"headline_one_seed",
     "One seed: separately trained models differ by more than their devices, so this cannot tell "
     "what is the device's share.",
     "只有一个种子：分别训练的模型之间不只有设备不同，因此无法判断其中设备的份额。"},
    {"headline_no_flips", "The same weights on both: none of {} answers differs.",
     "同一权重在两者上：{} 个回答没有一个不同。"},
    {"headline_flips",
     "The same weights on both: {0} of {1} answers differ; of {2} choices among them, {3} are no "
     "near-ties.",
     "同一权重在两者上：{1} 个回答中有 {0} 个不同；其中 {2} 个为选择题，{3} 个不是近似平局。"},
    {"headline_confounded",
     "Settings, data or code differ too: not the device's alone (see Confounders).",
     "设置、数据或代码也不同：不能只归因于设备（见“混杂因素”）。"},
    {"likely_cause", "Likely cause: {}", "可能的原因：{}"},
    {"title_against", "{} against {}", "{} 与 {} 相比"},
    {"title_against_of", "{0} against {1}: {2}", "{2}：{0} 与 {1} 相比"},
    {"days", "{} to {}", "{}至{}"},
    {"harness_of_both", "{} on both sides", "两侧均为 {}"},
    {"harness_of_each", "A by {}, B by {}", "A 由 {} 测得，B 由 {} 测得"},
    {"side_a", "A, the baseline: {}", "A（基线）：{}"},
    {"side_b", "B, the candidate: {}", "B（候选）：{}"},
    {"on_sim_clock", "simulated clock", "模拟时钟"},
    {"on_device_clock", "device clock", "设备时钟"},
    {"on_host_clock", "host clock", "主机时钟"},
    {"figure_speed", "speed of {} in {} ({})", "{} 的速度（{}，{}）"},
    {"figure_memory", "peak memory of {} in {}", "{} 的峰值内存（{}）"},
    {"figure_quality", "of the mean score of {}, {} scores", "占 {} 平均得分的比例，{} 项得分"},
    {"figure_quality_one", "of the score of {}", "占 {} 得分的比例"},
    {"figure_answers", "{} of {}", "{} 道（共 {} 道）"},
    {"figure_lost_won", "paired answers changed: {} lost, {} won",
     "成对回答改变：丢失 {}，赢得 {}"},
    {"scores_title", "Scores", "得分"},
    {"head_items", "{} items are paired one by one.", "{} 道题逐题配对。"},
    {"head_corrected", "Verdicts are corrected for {} scores (Holm); the intervals are not.",
     "结论已按 {} 项得分校正（Holm）；区间未校正。"},
    {"head_more", "{} more scores stand below.", "另有 {} 项得分见下文。"},
    {"and_more_below", "and {} more, below", "另有 {} 项，见下文"},
    {"differs_title", "What else differs", "还有哪些不同"},
    {"differs_nothing", "nothing that both sides state", "双方所述的内容中没有不同"},
    {"differs_unknown", "unknown: {}", "未知：{}"},
    {"same_title", "What is the same", "哪些相同"},
    {"same_questions", "{} questions, paired one by one", "{} 道题，逐题配对"},
    {"same_weights_known", "the weights, by their hash", "权重（按哈希）"},
    {"same_recipe", "settings, data and code", "设置、数据和代码"},
    {"same_nothing", "nothing is stated by both sides", "没有双方都说明的内容"},
    {"incomplete", "This report is incomplete: nodes failed or did not finish.",
     "本报告不完整：有节点失败或未完成。"},
    {"node_failed", "{} failed: {}", "{} 失败：{}"},
    {"cell_centred", "centred {}", "校正 {}"},
    {"scores_over_seeds",
     "Scores: raw, centred (a − r)/(1 − r) with chance r, 95 % interval of raw over seeds",
     "得分：原始值、校正值 (a − r)/(1 − r)（r 为随机水平）、原始值按种子的 95 % 区间"},
    {"scores_over_items",
     "Scores: raw, centred (a − r)/(1 − r) with chance r, 95 % interval of raw over items",
     "得分：原始值、校正值 (a − r)/(1 − r)（r 为随机水平）、原始值按题目的 95 % 区间"},
    {"scores_verdict", "; the gate's verdict", "；门禁结论"},
    {"scores_shown",
     "; what the difference to {} (A) shows, one score at a time (the first line corrects for "
     "their number)",
     "；与 {}（A）的差异单独看所显示的（首行已按项数校正）"},
    {"plot_differences", "Scores of {} minus those of {}", "得分之差：{} 减 {}"},
    {"plot_differences_axis", "difference of scores, 95 % interval", "得分之差，95 % 区间"},
    {"plot_differences_note",
     "An interval that crosses the dotted line shows no difference. A point without an interval "
     "comes from one pair.",
     "跨过虚线的区间不显示差异。没有区间的点来自单独一对。"},
    {"plot_differences_largest", "The {} largest; the table below has all.",
     "最大的 {} 项；全部见下表。"},
    {"plot_scores", "Scores", "得分"},
    {"plot_scores_axis", "score, 95 % interval", "得分，95 % 区间"},

    // checks
    {"not_gated", "Not gated: no baseline was given (npubench gate BASE CANDIDATE).",
     "未经门禁：没有给出基线（npubench gate BASE CANDIDATE）。"},
    {"uncalibrated",
     "Uncalibrated: there is no noise profile, so margins are max(1 pp, 6/n) and do not account "
     "for "
     "flips between healthy runs.",
     "未校准：没有噪声概况，因此裕量为 max(1 pp, 6/n)，不考虑健康运行之间的翻转。"},
    {"n_identical_checks", "{} check is bit-identical (PASS).|{} checks are bit-identical (PASS).",
     "{} 项检查逐位相同（PASS）。"},
    {"nothing_judged", "The gate judged nothing.", "门禁没有判定任何内容。"},

    // confounders
    {"no_comparison",
     "Nothing was compared: one device and no baseline (npubench report RUN --baseline BASE).",
     "没有比较：只有一台设备，也没有基线（npubench report RUN --baseline BASE）。"},
    {"sides", "A: {}; B: {}.", "A：{}；B：{}。"},
    {"sides_caption", "A: {}; B: {}", "A：{}；B：{}"},
    {"confounded",
     "Confounded: settings, data or code differ between the sides, so no difference below can be "
     "attributed to the device alone.",
     "存在混杂：两侧的设置、数据或代码不同，因此下面的差异不能只归因于设备。"},
    {"only_devices",
     "Settings and code are equal on both sides: all differences come from the emulated devices.",
     "两侧的设置与代码相同：所有差异都来自被模拟的设备。"},
    {"same_policy",
     "Both sides have the same numerics policy: arithmetic can explain no difference between "
     "them.",
     "两侧的数值策略相同：算术不能解释它们之间的任何差异。"},
    {"differences_besides", "Differences besides the results", "结果以外的差异"},
    {"stated_equal", "Both sides state the same: {}.", "两侧说明相同：{}。"},
    {"category_settings", "settings", "设置"},
    {"category_data", "data", "数据"},
    {"category_code", "code", "代码"},
    {"category_numerics", "numerics", "数值"},
    {"category_device", "device", "设备"},
    {"category_server", "server", "服务器"},
    {"not_compared", "Not compared:", "未比较："},

    // scores
    {"separately_trained",
     "Separately trained models differ by seed as well as by device: an interval over items "
     "describes other questions, not another training run.",
     "分别训练的模型既有种子的不同，也有设备的不同：按题目的区间说的是换一批题目，而不是再训练一次"
     "。"},
    {"nothing_pairs", "No records of {} and {} pair: nothing to compare.",
     "{} 与 {} 的记录无法配对：无可比较。"},
    {"n_identical_pairs",
     "{} pair is bit-identical on both sides.|{} pairs are bit-identical on "
     "both sides.",
     "{} 对在两侧逐位相同。"},
    {"scores_both", "Scores of both sides", "双方得分"},
    {"scores_of", "Scores of the models that each side trained", "各侧自己训练的模型的得分"},
    {"trainings_of", "Training metrics", "训练指标"},
    {"intervals_how", "Intervals: {}.", "区间：{}。"},
    {"method_paired_seeds", "Student's t over {} pairs of equal seeds",
     "{} 对相同种子的 Student t"},
    {"method_welch", "Welch's t over independent seeds", "独立种子的 Welch t"},
    {"method_one_many", "one seed against the prediction interval of many",
     "单个种子对多个种子的预测区间"},
    {"paired_items", "{} lost, {} won of {}; p {}", "{2} 题中失 {0}、得 {1}；p {3}"},
    {"every_pair", "Pairs of records, every metric that is not equal",
     "每一对记录，所有不相等的指标"},
    {"every_score",
     "Every score of this run (tasks named mw/… are generated and do not measure real ability)",
     "本次运行的全部得分（名为 mw/… 的任务是生成的，不衡量真实能力）"},
    {"no_evaluation", "No evaluation finished in this run.", "这次运行没有完成的评测。"},

    // attribution
    {"no_attribution",
     "No attribution: no weights were evaluated on two devices, and the suite is no experiment on "
     "several changes.",
     "没有归因：没有权重在两台设备上评测过，这个套件也不是多项改动的实验。"},
    {"crossed_how",
     "Trained on × evaluated on, {0} minus {1}. The same weights on both devices: what evaluation "
     "makes of it. Own weights: training and evaluation together; what remains comes from "
     "training.",
     "训练设备 × 评测设备，{0} 减 "
     "{1}。同一权重在两台设备上：评测造成的部分。各自的权重：训练与评测合在一起；其余来自训练。"},
    {"crossed", "Where the difference of {} to {} comes from", "{} 与 {} 之差从何而来"},
    {"same_weights_of", "same weights (trained on {})", "同一权重（训练于 {}）"},
    {"own_weights", "own weights", "各自的权重"},
    {"emulated_effects", "Emulated. {}.", "模拟所得。{}。"},
    {"share_of_gap", "share of the emulated gap", "占模拟差距的份额"},
    {"share_interval", "95 % interval of the share, %", "份额的 95 % 区间（%）"},

    // throughput and memory
    {"clocks",
     "Each clock has its own tables: simulated time and memory of emulated devices, a real "
     "device's own clock, and the clock of the computer that ran this. They are never compared "
     "with each other. Of several seeds: the median, and the smallest and largest where they "
     "differ.",
     "每种时钟各有自己的表：被模拟设备的模拟时间与内存、真实设备自己的时钟、运行本程序的计算机的时"
     "钟。"
     "它们之间从不比较。多个种子时给出中位数；不相同时另给最小值与最大值。"},
    {"kind_train", "executed training", "实际执行的训练"},
    {"kind_predict", "dry prediction", "不执行的预测"},
    {"plot_throughput", "simulated throughput, {}", "模拟吞吐量，{}"},
    {"plot_memory", "simulated peak memory, {}", "模拟峰值内存，{}"},
    {"clock_sim", "Simulated clock, {}", "模拟时钟，{}"},
    {"clock_device", "The device's clock, {}", "设备时钟，{}"},
    {"clock_host", "Host clock, {} (not comparable with the above, never gated)",
     "主机时钟，{}（与上面的不可比，从不进入门禁）"},
    {"every_sim", "Every simulated metric, {}", "全部模拟指标，{}"},
    {"every_device", "Every metric of the device's clock, {}", "设备时钟的全部指标，{}"},
    {"whole_stages", "Whole stages on the simulated clock (predicted, not measured)",
     "整个阶段的模拟时钟（预测，不是测量）"},
    {"no_speed", "No node of this run measured time or memory.",
     "这次运行没有节点测量时间或内存。"},

    // loss curves
    {"no_training", "No training node finished in this run.", "这次运行没有完成的训练节点。"},
    {"no_curves", "No curves: no training node has a readable steps.csv.",
     "没有曲线：没有训练节点有可读的 steps.csv。"},
    {"curve_thinned", "Each point is the mean of {} steps; csv/curves.csv has all.",
     "每个点是 {} 步的平均；csv/curves.csv 里有全部。"},
    {"plot_loss_difference", "{}: training loss, difference between devices",
     "{}：训练损失，设备之间的差"},
    {"loss_difference", "loss difference (nat)", "损失之差 (nat)"},
    {"same_seed_and_data", "Same seed and data: the difference is due to the devices' arithmetic.",
     "种子与数据相同：差异来自设备的算术。"},
    {"final_state", "Final state of training (equal digests mean equal bits)",
     "训练的最终状态（摘要相同即逐位相同）"},

    // flips
    {"no_flips", "No answer differs between the sides.", "两侧没有不同的回答。"},
    {"flips_how",
     "An item is lost when A has it right and B does not, won when it is the other way round. A "
     "near-tie is a choice whose gold margin lies within the limit on both sides, max(.05 nat, 4 "
     "s) with s the robust spread of the margins' changes (of logits in bf16 .125 nat, the last "
     "bits "
     "of two): rounding explains it. A hard flip is "
     "not explained by rounding when the weights are the same. Answers by text have no margin.",
     "A 对而 B 错为“失”，反之为“得”。近似平局：选择题的正确答案裕量在两侧都不超过界限 max(.05 nat, "
     "4 s)，"
     "s "
     "是裕量变化的稳健离散度（bf16 的 logit 为 .125 nat，即两个 logit "
     "的末位）：可由舍入解释。权重相同时，硬翻转不能由舍入解释。文本回答没有裕量。"},
    {"rows_left_out", "“{}”: this page has the first {} of {} rows; csv/{} has all.",
     "“{0}”：本页有 {2} 行中的前 {1} 行；csv/{3} 里有全部。"},
    {"sides_short", "A | B", "A | B"},
    {"lost", "lost", "失"},
    {"won", "won", "得"},
    {"near_tie", "near-tie", "近似平局"},
    {"hard", "hard", "硬翻转"},
    {"by_text", "text", "文本"},
    {"limit_nat", "limit (nat)", "界限 (nat)"},
    {"same_weights", "same", "相同"},
    {"other_weights", "other", "不同"},
    {"flips_by_task", "Flips by task", "按任务的翻转"},
    {"flip_items", "Items that flipped", "翻转的题目"},
    {"flips_left_out",
     "The page holds {} of {} flips, those of equal weights first; csv/flips.csv has all.",
     "本页含 {1} 个翻转中的 {0} 个，同一权重的在前；csv/flips.csv 里有全部。"},
    {"flips_rows_only",
     "The first {} of {} flips; with JavaScript, this page filters and searches more.",
     "{1} 个翻转中的前 {0} 个；启用 JavaScript 后本页可筛选和搜索更多。"},
    {"search", "search", "搜索"},
    {"all", "all", "全部"},
    {"more", "show more", "显示更多"},
    {"found", "{} found", "找到 {}"},
    {"gold", "gold", "标准答案"},
    {"answer_a", "A answers", "A 的回答"},
    {"answer_b", "B answers", "B 的回答"},
    {"margin_a", "margin A (nat)", "A 裕量 (nat)"},
    {"margin_b", "margin B (nat)", "B 裕量 (nat)"},
    {"log_probs", "log-probabilities of the choices (nat)", "各选项的对数概率 (nat)"},
    {"open_item", "open", "打开"},
    {"question", "question", "题目"},
    {"choices", "choices", "选项"},
    {"reference", "reference answer", "参考答案"},
    {"mark", "mark", "得分"},
    {"kind_of_flip", "flip", "翻转"},
    {"direction", "direction", "方向"},

    // trends
    {"no_trends", "No trend: earlier nights were not given (--nights FOLDER).",
     "没有趋势：没有给出更早的夜间运行（--nights FOLDER）。"},
    {"no_other_nights", "No trend: {} has no two nights of the sequence \"{}\".",
     "没有趋势：{} 中没有序列“{}”的两次夜间运行。"},
    {"trend_caption", "Headline metrics by night, of {}", "各夜的主要指标，取自 {}"},
    {"nights", "nights", "夜数"},
    {"latest", "latest", "最新"},
    {"level", "level", "水平"},
    {"by_night", "by night", "逐夜"},
    {"trend_few", "too few to tell", "太少，无法判断"},
    {"trend_steady", "no change", "无变化"},
    {"trend_level_since", "{} → {} since {}", "{} → {}，自 {}"},
    {"trend_level", "{}, {}: the level changed at {}: {} → {} ({}), p {}; {}",
     "{}，{}：水平在 {} 改变：{} → {}（{}），p {}；{}"},
    {"trend_changed", "changed in that run: {}", "该次运行中改变的有：{}"},
    {"trend_unchanged", "neither settings nor code changed in that run",
     "该次运行中设置与代码均未改变"},
    {"trend_once", "With one value so far, not shown: {}.", "目前只有一个值而未显示的：{}。"},
    {"trend_older",
     "Earlier values that may not be compared with the newest (items, prompts, tokenizer or "
     "versions differ), left out: {}.",
     "因题目、提示、分词器或版本不同而不能与最新值比较、故略去的早先值：{}。"},

    // report card
    {"card_how",
     "nanochat's report card, with the 95 % intervals and the other device that it never had. "
     "Raw scores; “-”: not evaluated.",
     "nanochat 的成绩单，并加上它从未有过的 95 % 区间与另一台设备。原始得分；“-”表示未评测。"},
    {"card_wall", "Total wall clock time of the records: {} (this computer's clock)",
     "记录的总时长：{}（本机时钟）"},
    {"no_card_stages", "No report card: no evaluation belongs to BASE, MID, SFT or RL.",
     "没有成绩单：没有属于 BASE、MID、SFT 或 RL 的评测。"},

    // numerics card
    {"numerics_counts",
     "How the emulator performs these devices' arithmetic: {} documented, {} assumed, {} not "
     "modelled.",
     "模拟器如何执行这些设备的算术：{} 项有文档，{} 项为假定，{} 项未建模。"},
    {"documented", "documented", "有文档"},
    {"assumed", "assumed", "假定"},
    {"not_modelled", "not modelled", "未建模"},
    {"no_card_of", "No numerics card in the records of {}.", "{} 的记录中没有数值卡。"},
    {"no_card", "No record ran on a device, so there is no numerics card.",
     "没有记录在设备上运行，因此没有数值卡。"},

    // environment
    {"no_environment", "The records say nothing about their environment.", "记录没有说明其环境。"},
    {"code_digests", "Digests of the sources", "源代码摘要"},

    // how to reproduce
    {"made_by", "Made by {}, sources with the digest {} (npubench --version).",
     "由 {} 生成，源代码摘要 {}（npubench --version）。"},
    {"reproduce_how",
     "Equal settings, seeds and sources give equal bits. The second line runs one training again "
     "and says when its bits differ.",
     "设置、种子与源代码相同，则逐位相同。第二行重新训练一个节点，若结果不同会指出。"},
    {"reproduce_foreign", "These results were imported; the commands compare them again.",
     "这些结果是导入的；下面的命令重新比较它们。"},

    // microbenchmarks
    {"no_benchmark", "No microbenchmark ran.", "没有运行微基准测试。"},
    {"benchmarks_empty", "The microbenchmarks recorded no metric.", "微基准测试没有记录指标。"},
    {"micro_sim", "Simulated clock", "模拟时钟"},
    {"micro_device", "The device's clock", "设备时钟"},
    {"micro_host", "Host clock (never gated)", "主机时钟（从不进入门禁）"},
    {"plot_ratios", "Times of microbenchmarks: {} against {}", "微基准测试的耗时：{} 对比 {}"},
    {"axis_ratio", "time on {} / time on {}", "{} 的耗时 / {} 的耗时"},
    {"ratio", "ratio", "比值"},
    {"equally_fast", "equally fast", "同样快"},
    {"ratios_mean",
     "{} takes {} × the time of {}: the geometric mean of {} microbenchmarks, which range "
     "from {} × to {} ×.",
     "{0} 的耗时是 {2} 的 {1} 倍：{3} 个微基准测试的几何平均，范围为 {4} 至 {5} 倍。"},

    // inventory
    {"n_records", "{} record|{} records", "{} 条记录"},
    {"inventory",
     "{}: {}. Times and memory of emulated devices are simulated (clock sim) unless a table says "
     "host.",
     "{}：{}。除非表中写明主机，被模拟设备的时间与内存都是模拟的（时钟 sim）。"},
    {"where_time_went",
     "Where the time went: wall clock of the nodes by their records, to a second, reused ones when "
     "they ran",
     "时间花在哪里：各节点记录的实际时间（精确到秒），复用的节点取其运行之时"},
    {"time", "time", "时间"},
    {"share", "share", "占比"},
    {"nodes", "nodes", "节点数"},
    {"what_ran", "What ran", "运行内容"},
    {"from_store", "store (reused)", "存储（复用）"},
    {"from_this_run", "this run", "本次运行"},

    // plots
    {"no_gnuplot",
     "no plots: {} does not run on this host; install the package gnuplot-nox and write the report "
     "again",
     "没有图：{} 不能在本机运行；请安装软件包 gnuplot-nox 后重新生成报告"},
};

}  // namespace nb
