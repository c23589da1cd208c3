// Sentences that results/ makes: patterns of them in English and what they become. "{}" stands for
// any text; what it stood for is translated in turn where it is a sentence itself. A sentence
// without pattern stays as it is.
#include <optional>
#include <vector>

#include "report/words.hpp"

namespace nb {
namespace {

struct Sentence {
  std::string_view en, zh;  // zh: {0}, {1}, … in any order
};

constexpr Sentence kSentences[] = {
    // the gate's first line
    {"can't tell (exit {}): {}: {}", "无法判定（退出码 {0}）：{1}：{2}"},
    {"ERROR (exit {}): nothing was compared", "ERROR（退出码 {0}）：没有可比较的内容"},
    {"{} (exit {}): {} of {} checks are not PASS",
     "{0}（退出码 {1}）：{3} 项检查中 {2} 项不是 PASS"},
    {"{} (exit {}): {}; {} of {} checks are not PASS",
     "{0}（退出码 {1}）：{2}；{4} 项检查中 {3} 项不是 PASS"},
    {"{} (exit {}): {} checks, {} bit-identical; accept as a new baseline?",
     "{0}（退出码 {1}）：{2} 项检查，{3} 项逐位相同；接受为新的基线？"},
    {"{} (exit {}): {} checks, {} bit-identical; no setting was changed: what did it?",
     "{0}（退出码 {1}）：{2} 项检查，{3} 项逐位相同；没有改变任何设置：是什么造成的？"},
    {"{} (exit {}): {} checks, {} bit-identical", "{0}（退出码 {1}）：{2} 项检查，{3} 项逐位相同"},
    {"{} (exit {}): 1 check, {} bit-identical", "{0}（退出码 {1}）：1 项检查，{2} 项逐位相同"},
    {"{} (exit {}): {}", "{0}（退出码 {1}）：{2}"},
    {"equal to the last bit", "逐位相同"},
    // the first line of a comparison (results/headline.cpp)
    {"{}. These are two models: their difference is no device's.",
     "{0}。这是两个模型：它们之差不属于设备。"},
    {"{}. This cannot tell whether the device did it: it was asked or marked otherwise.",
     "{0}。无法判断是否由设备造成：提问或评分方式不同。"},
    {"{}. This cannot tell whether the device did it: see \"unknown\" below.",
     "{0}。无法判断是否由设备造成：见下面的未知项。"},
    {"{}. This cannot tell whether the device did it: {} things differ besides it.",
     "{0}。无法判断是否由设备造成：此外还有 {1} 项不同。"},
    {"{}. This cannot tell whether the device did it: {} differs besides it.",
     "{0}。无法判断是否由设备造成：此外 {1} 也不同。"},
    {"B is worse on {}; {}", "B 在以下更差：{0}；{1}"},
    {"B is better on {}; {}", "B 在以下更好：{0}；{1}"},
    {"better on {}; {}", "在以下更好：{0}；{1}"},
    {"B is worse on {}.", "B 在以下更差：{0}。"},
    {"B is better on {}.", "B 在以下更好：{0}。"},
    {"B is worse on {}", "B 在以下更差：{0}"},
    {"B is better on {}", "B 在以下更好：{0}"},
    {"better on {}.", "在以下更好：{0}。"},
    {"better on {}", "在以下更好：{0}"},
    {"{} and {} more", "{0} 以及另外 {1} 项"},
    {"No difference shown on {}", "未显示差异：{0}"},
    {"no difference shown on {}", "未显示差异：{0}"},
    {"{} scores (could see ≥ {} to {}); {}", "{0} 项得分（可检出 ≥ {1} 至 {2}）；{3}"},
    {"{} scores (could see ≥ {} to {}).", "{0} 项得分（可检出 ≥ {1} 至 {2}）。"},
    {"{} scores (could see ≥ {} to {})", "{0} 项得分（可检出 ≥ {1} 至 {2}）"},
    {"1 score (could see ≥ {}); {}", "1 项得分（可检出 ≥ {0}）；{1}"},
    {"1 score (could see ≥ {}).", "1 项得分（可检出 ≥ {0}）。"},
    {"1 score (could see ≥ {})", "1 项得分（可检出 ≥ {0}）"},
    {"{} scores (could see ≥ {}); {}", "{0} 项得分（可检出 ≥ {1}）；{2}"},
    {"{} scores (could see ≥ {}).", "{0} 项得分（可检出 ≥ {1}）。"},
    {"{} scores (could see ≥ {})", "{0} 项得分（可检出 ≥ {1}）"},
    {"{} score equal answer by answer; {}", "{0} 项得分逐题相同；{1}"},
    {"{} scores equal answer by answer; {}", "{0} 项得分逐题相同；{1}"},
    {"{} score equal answer by answer.", "{0} 项得分逐题相同。"},
    {"{} scores equal answer by answer.", "{0} 项得分逐题相同。"},
    {"{} score without items or standard errors: nothing can be said of it.",
     "{0} 项得分没有题目或标准误：对它无法下结论。"},
    {"{} scores without items or standard errors: nothing can be said of them.",
     "{0} 项得分没有题目或标准误：对它们无法下结论。"},
    // how intervals are made
    {"paired items, these two checkpoints only", "成对的题目，只限这两个检查点"},
    {"paired items", "成对的题目"},
    {"{} scores with equal totals; {}", "{0} 项得分总分相同；{1}"},
    {"{} score with equal totals; {}", "{0} 项得分总分相同；{1}"},
    {"{} scores with equal totals.", "{0} 项得分总分相同。"},
    {"{} score with equal totals.", "{0} 项得分总分相同。"},
    // scores of other harnesses (results/gate_imported.cpp, imported_rows.cpp)
    {"{} cannot be judged: {}", "{0} 无法判断：{1}"},
    {"can't tell: worse beyond chance, but by less than half the margin: {}",
     "无法判定：差异超出偶然，但小于裕量的一半：{0}"},
    {"can't tell: {}; detectable difference (80 % power) {}; the number of items is not said, so "
     "the margin is the least",
     "无法判定：{0}；可检出的差异（80 % 功效）{1}；题数未说明，因此裕量取最小值"},
    {"can't tell: {}: totals without n or standard error, within {}; give the items",
     "无法判定：{0}：总分既无题数也无标准误差，在{1}之内；请提供各题结果"},
    {"can't tell: {}: totals without n or standard error; give the items",
     "无法判定：{0}：总分既无题数也无标准误差；请提供各题结果"},
    {"not worse by the margin: {}", "未差到裕量：{0}"},
    {"{}; the number of items is not said, so the margin is the least",
     "{0}；题数未说明，因此裕量取最小值"},
    {"{} of {} answers lost, {} won; {} pp (margin {} pp, one-sided p {} corrected)",
     "{1} 题中失去 {0} 题，赢得 {2} 题；{3} 个百分点（裕量 {4} 个百分点，校正后单侧 p {5}）"},
    {"{} (unpaired totals; margin {}, one-sided p {} corrected)",
     "{0}（不成对的总分；裕量 {1}，校正后单侧 p {2}）"},
    {"{}, beyond {}: no noise does that", "{0}，超出{1}：噪声不会如此"},
    {"what {} items could do by chance", " {0} 道题偶然能造成的幅度"},
    {"{}: within the {} that the baseline itself allows", "{0}：在基线自己允许的 {1} 之内"},
    {"{}: beyond the {} that the baseline itself allows", "{0}：超出基线自己允许的 {1}"},
    {"{} on the device's clock, worse by more than {}", "{0}（设备时钟），变差超过 {1}"},
    {"can't tell: which way is better is not said (--higher {} or --lower {})",
     "无法判定：没有说明越高还是越低更好（--higher {0} 或 --lower {1}）"},
    {"{} of {}: which way is better is not said; not judged (--higher or --lower {})",
     "{1} 的 {0}：没有说明越高还是越低更好；不判断（--higher 或 --lower {2}）"},
    {"{} of {}: {}, measured once, within {}; not judged",
     "{1} 的 {0}：{2}，只测了一次，在 {3} 之内；不判断"},
    {"{} of {}: {}, measured once; not judged", "{1} 的 {0}：{2}，只测了一次；不判断"},
    {"INCOMPARABLE: two harnesses ask {} in ways of their own ({} and {}), and no items show that "
     "they asked alike",
     "INCOMPARABLE：两个评测框架（{1} 和 {2}）以各自的方式提问 {0}，没有题目表明提问相同"},
    {"nothing pairs: it has {}, the candidate {}", "没有可配对的记录：基线有 {0}，候选有 {1}"},
    {"no score stands on both sides: A has {}; B has {}", "没有双方都有的得分：A 有 {0}；B 有 {1}"},
    {"all {} marks are equal", "{0} 个评分全部相同"},
    {"equal totals", "总分相同"},
    {"the model is not stated: that both sides are the same model is taken on trust",
     "模型未说明：只能相信双方是同一个模型"},
    {"{} does not state its model: that both sides are the same model is taken on trust",
     "{0} 没有说明模型：只能相信双方是同一个模型"},
    {"unpaired totals of its parts", "各部分不成对的总分"},
    {"paired items of its parts", "各部分成对的题目"},
    {"unpaired totals", "不成对的总分"},
    // verdicts, findings and notes
    {"the arrow of {} points up, but lower is better: the arrow is left out",
     "{0} 的箭头朝上，但数值越低越好：不采用该箭头"},
    {"{}: more digits than a percentage has there, so it is taken for a share",
     "{0}：小数位数多于该工具的百分数，因此按比例读取"},
    {"{}: its table repeats {}", "{0}：其中的表格与 {1} 重复"},
    {"its values are expectations of a test, not measured", "其数值是测试的期望值，并非实测"},
    {"{} holds {} items of {}, its results say {}",
     "{0} 中有 {2} 的 {1} 道题，结果文件写的是 {3} 道"},
    {"{} holds {} reviews, its report says {}", "{0} 中有 {1} 条评分，报告写的是 {2} 条"},
    {"{}: its files hold {} scored answers, its results say {}",
     "{0}：文件中有 {1} 个已评分的回答，结果写的是 {2} 个"},
    {"{}: the file breaks off in this line: {} of {} items are there",
     "{0}：文件在这一行中断：{2} 道题中只有 {1} 道"},
    {"{}: the file breaks off in this line: {} of {} reviews are there",
     "{0}：文件在这一行中断：{2} 条评分中只有 {1} 条"},
    {"{}: {} of its {} reviews have a score", "{0}：{2} 条评分中只有 {1} 条有分数"},
    {"{}: {} of {} samples have a score", "{0}：{2} 个样本中只有 {1} 个有分数"},
    {"{}: the log's status is {}; {} samples are there", "{0}：日志状态为 {1}；有 {2} 个样本"},
    {"{}: {} states {} in all, but its parts lie between {} and {}",
     "{0}：{1} 写的总分是 {2}，但各部分在 {3} 与 {4} 之间"},
    {"{}: {} of {} answers are there, the others failed", "{0}：{2} 个回答中只有 {1} 个，其余失败"},
    {"{}: the log-probabilities of {} of {} rows are NaN; the harness takes the first choice then, "
     "which is no answer of the model",
     "{0}：{2} 行中有 {1} 行的对数概率是 NaN；评测工具此时取第一个选项，这不是模型的回答"},
    {"bit-identical answers", "回答逐位相同"},
    {"{} % of the items could not be scored, {} % in the baseline; find out why before judging "
     "scores",
     "{0} % 的题目无法评分，基线中为 {1} %；判定得分之前先查明原因"},
    {"the candidate does not have this metric", "候选没有这个指标"},
    {"not measured: {}", "未测量：{0}"},
    {"clock, unit or direction differ: {}", "时钟、单位或方向不同：{0}"},
    {"the candidate could not measure it: {}", "候选无法测量：{0}"},
    {"{}: not judged, not measured in the baseline: {}", "{0}：未判定，基线中未测量：{1}"},
    {"{}: not in the declared family, shown but not judged",
     "{0}：不在所声明的任务族中，只显示，不判定"},
    {"{}: not in the declared family, not judged", "{0}：不在所声明的任务族中，不判定"},
    {"equal weights, {} → {}: the metric itself changed", "权重相同，{0} → {1}：指标本身变了"},
    {"equal answers, {} → {}: the metric itself changed", "回答相同，{0} → {1}：指标本身变了"},
    {"another share of guessing taken away, {} → {}: the metric itself changed",
     "扣除的猜测得分不同，{0} → {1}：指标本身变了"},
    {"{}: {} → {}; its chance is not known, shown but not judged",
     "{0}：{1} → {2}；其偶然性未知，只显示，不判定"},
    {"{}: changed with its tasks, judged by them", "{0}：随其任务改变，由任务判定"},
    {"{}: changed; neither direction is better, not judged", "{0}：有改变；没有更好的方向，不判定"},
    {"the baseline's node failed: {}", "基线的节点失败：{0}"},
    {"the candidate's node failed: {}", "候选的节点失败：{0}"},
    {"the node failed: {}", "节点失败：{0}"},
    {"equal settings, code and data gave other bits ({}): the computer or its software changed, or "
     "a record was edited",
     "设置、代码与数据相同却得到不同的位（{0}）：计算机或其软件变了，或记录被改过"},
    {"equal settings, code and data gave other bits: {}",
     "设置、代码与数据相同却得到不同的位：{0}"},
    {"{}: no seed occurs on both sides ({} and {}): compared as independent groups",
     "{0}：没有种子同时出现在两侧（{1} 与 {2}）：作为独立的组比较"},
    {"{}: other bits, but the first steps agree up to rounding",
     "{0}：位不同，但最初几步在舍入范围内一致"},
    {"{}: began with other weights, so of its first steps only rates and data are judged",
     "{0}：起始权重不同，因此最初几步只判定学习率与数据"},
    {"{} of {} texts differ, their marks no more than by rounding",
     "{1} 个文本中 {0} 个不同，评分的变化不超过舍入"},
    {"better by more than {} standard errors of seeds ({}), and no setting was changed: what did "
     "it?",
     "比种子的 {0} 个标准误还好（{1}），而没有改变任何设置：是什么造成的？"},
    {"no setting was changed: what did it?", "没有改变任何设置：是什么造成的？"},
    {"the training procedure changed: {}, {} of its seeds", "训练过程变了：{0}，涉及 {1} 个种子"},
    {"the training procedure changed: {}", "训练过程变了：{0}"},
    {"{} (allowed by the policy)", "{0}（策略允许）"},
    {"the candidate has no such record", "候选没有这条记录"},
    {"the candidate has no such score", "候选没有这个分数"},
    {"gated_tasks: neither run has the task {}", "gated_tasks：两次运行都没有任务 {0}"},
    {"new, no baseline: {}", "新的，没有基线：{0}"},
    {"{}: other tokens were read already at the first step, before any weight was updated",
     "{0}：在更新任何权重之前的第一步就读入了不同的词元"},
    {"{}: other tokens were read at step {}", "{0}：第 {1} 步读入了不同的词元"},
    {"{} at step {} (exact: no rounding changes it)", "{0}，第 {1} 步（精确值：舍入不会改变它）"},
    {"{} already at the first step, before any weight was updated (exact: no rounding changes it)",
     "{0}，在更新任何权重之前的第一步（精确值：舍入不会改变它）"},
    {"{} has other content", "{0} 的内容不同"},
    {"it was trained on other tokens", "训练所用的词元不同"},
    {"changed settings: {}", "改变的设置：{0}"},
    {"changed code: {}", "改变的代码：{0}"},
    {"changed data: {}", "改变的数据：{0}"},
    {"only {} of {} answers differ", "{1} 个回答中只有 {0} 个不同"},
    {"at least {} flips in one direction are needed", "至少需要 {0} 个同方向的翻转"},
    {"the difference lies on the margin", "差异正在裕量上"},
    {"no number of items settles it", "多少题都无法确定"},
    {"about {} items would settle it with 80 % power, there are {}",
     "约 {0} 题可以 80 % 的功效确定，现有 {1} 题"},
    {"worse, within the margin: {} of {} answers lost, {} won",
     "更差，但在裕量内：{1} 个回答中失 {0}、得 {2}"},
    {"{} of {} answers lost, {} won", "{1} 个回答中失 {0}、得 {2}"},
    {"{} (margin {} pp, one-sided p {} after Holm)", "{0}（裕量 {1} pp，Holm 后单侧 p {2}）"},
    {"accept as a new baseline?", "接受为新的基线？"},
    {"{}, and neither direction is better", "{0}，没有更好的方向"},
    {"accept it as a new baseline or explain it", "接受为新的基线，或加以解释"},
    {"better than possible: a leak, another split or a changed metric?",
     "好得不可能：泄漏、换了划分，还是指标变了？"},
    {"cheaper than this recipe can be: is a part of it missing?",
     "比这个配方所能达到的更省：是否缺了一部分？"},
    {"{}: beyond what seed noise explains, ±{} ({} SD of a difference",
     "{0}：超出种子噪声能解释的 ±{1}（差的 {2} 个标准差"},
    {"retrained, {} → {} ({}", "重新训练，{0} → {1}（{2}"},
    {"excluded are only changes beyond ±{} ({})", "只排除了超过 ±{0} 的变化（{1}）"},
    {"smaller ones need at least {} seeds", "更小的变化至少需要 {0} 个种子"},
    // curves of imported trainings (results/gate_curves.cpp, curve_comparison_text.cpp)
    {"{}: beyond what noise explains, ±{} ({})", "{0}：超出噪声能解释的 ±{1}（{2}）"},
    {"{} SD of a difference, {}", "差的 {0} 个标准差，{1}"},
    {"step-to-step noise of the difference", "差值的逐步噪声"},
    {"step-to-step noise of the baseline", "基线的逐步噪声"},
    {"step-to-step noise of the baseline's training loss, {} %", "基线训练损失的逐步噪声 {0} %"},
    {"{}: equal up to {} {}, apart from {} {} on", "{0}：到 {1} {2} 为止相同，从 {3} {4} 起分开"},
    {"{}: apart from {} {} on", "{0}：从 {1} {2} 起分开"},
    {"{}: not apart beyond the noise", "{0}：没有超出噪声的分离"},
    {"{} at the end", "结束时 {0}"},
    {"equal at all {} points", "全部 {0} 个点相同"},
    {"the candidate's curve does not have this", "候选的曲线没有这一列"},
    {"the baseline has a curve by step, the candidate has none", "基线有逐步曲线，候选没有"},
    {"one-sided p {} after Holm, against the noise card's spread",
     "Holm 后单侧 p {0}，相对噪声卡的离散"},
    {"one-sided p {} after Holm", "Holm 后单侧 p {0}"},
    {"not shown to lie within {}", "未显示落在 {0} 以内"},
    {"{} seeds would find that with 80 % power", "{0} 个种子可以 80 % 的功效发现它"},
    {"at least {} seeds are needed", "至少需要 {0} 个种子"},
    {"noise card, upper 80 % limit of the SD of {} seeds",
     "噪声卡，{0} 个种子的标准差的 80 % 上限"},
    {"upper 80 % limit of the SD of the baseline's {} seeds",
     "基线 {0} 个种子的标准差的 80 % 上限"},
    {"binomial noise of {} items + 5 pp", "{0} 题的二项噪声 + 5 pp"},
    {"gold margins moved by {} nat on average (p {})", "正确答案的裕量平均移动 {0} nat（p {1}）"},
    {"half of the margins moved by more than {} nat", "一半的裕量移动超过 {0} nat"},
    {"flips in one direction (p {})", "翻转朝向一个方向（p {0}）"},
    {"more flips than rounding gives, {} (p {})", "翻转多于舍入所能造成的 {0}（p {1}）"},
    {"{} answer flipped that rounding cannot reach: {}", "{0} 个回答翻转，舍入做不到：{1}"},
    {"{} answers flipped that rounding cannot reach: {}", "{0} 个回答翻转，舍入做不到：{1}"},
    {"{} of {} texts part within their first {} bytes",
     "{1} 段文本中有 {0} 段在前 {2} 个字节内就分开"},
    {"the same weights over all seeds: {}", "同一权重，所有种子合计：{0}"},
    {"as rounding does", "如舍入所致"},
    {"not rounding: {}", "不是舍入：{0}"},
    {"no item of the baseline is an item of the candidate", "基线的题目没有一道是候选的题目"},
    {"the reference answers of {} of {} items differ", "{1} 题中有 {0} 题的标准答案不同"},
    {"the prompts of {} of {} items differ", "{1} 题中有 {0} 题的提示不同"},
    {"the candidate lacks {} of the baseline's {} items ({})",
     "候选缺少基线 {1} 题中的 {0} 题（{2}）"},
    {"{} worse beyond chance ({}), p {}", "更差 {0}，超出偶然（{1}），p {2}"},
    {"not worse by {} ({})", "没有差 {0}（{1}）"},
    {"can't tell: {} ({})", "无法判定：{0}（{1}）"},
    {"detectable difference (80 % power) {}", "可检出的差异（80 % 功效）{0}"},
    {"equal answer by answer", "逐题相同"},
    {"equal marks of all items", "所有题目的评分相同"},
    {"{}: {} of {} items, {} answers lost, {} won", "{0}：{2} 题中 {1} 题，失 {3}、得 {4}"},
    {"the same weights were scored otherwise on the same device: the evaluator or the numerics "
     "changed ({})",
     "同一权重在同一设备上得分不同：评测器或数值变了（{0}）"},
    {"the metric itself changed: it is computed in another way ({})",
     "指标本身变了：计算方式不同（{0}）"},
    {"the reference answers differ: {}", "标准答案不同：{0}"},
    {"the prompts differ: {}", "提示不同：{0}"},
    {"no difference below is the device's alone", "下面的差异都不能只归因于设备"},
    {"INCOMPARABLE: no item of A is an item of B", "INCOMPARABLE：A 的题目没有一道是 B 的题目"},
    {"{} paired items", "{0} 道成对的题目"},
    {"{} only in A, {} only in B", "仅在 A 中 {0}，仅在 B 中 {1}"},
    {"only in A", "仅在 A 中"},
    {"only in B", "仅在 B 中"},
    {"only in A: {}", "仅在 A 中：{0}"},
    {"only in B: {}", "仅在 B 中：{0}"},
    {"only on {}: {}", "仅在 {0} 上：{1}"},
    {"{}: not measured: {}", "{0}：未测量：{1}"},
    {"{} does not say which code it ran", "{0} 没有说明运行的是哪份代码"},
    {"{} does not say: {}", "{0} 没有说明：{1}"},
    {"not compared, since both sides do not tell: {}", "未比较，因为并非两边都有说明：{0}"},
    {"the texts that were read", "所读的文本"},
    {"the texts that were read, {}", "所读的文本、{0}"},
    {"the weights it began with", "起始权重"},
    {"the weights it began with, {}", "起始权重、{0}"},
    {"number formats", "数值格式"},
    {"{}: several could be its partner ({}); name one by its node's folder",
     "{0}：可与之配对的有多个（{1}）；请用节点的文件夹指定一个"},
    {"how both sides were made: no setting is stated by both",
     "两侧如何产生：没有一项设置是双方都说明的"},
    {"that both sides are the same weights is taken from the model's name alone",
     "两侧为同一权重，只是从模型名称得知"},
    {"training settings unknown: {}", "训练设置未知：{0}"},
    {"training code unknown: {}", "训练代码未知：{0}"},
    {"{} at step {} ({} %, rounding explains {} %)", "{0}，第 {1} 步（{2} %，舍入可解释 {3} %）"},
    {"{} of {} items of {}", "{2} 的 {1} 题中 {0} 题"},
    {"{}: {} has no value of its own for each item", "{0}：{1} 没有每题的值"},
    {"the file does not say its total", "文件没有说明其总分"},
    {"{}; {}", "{0}；{1}"},
};

// What each {} of the pattern stands for; nothing where the text is another one.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view text) {
  std::vector<std::string> found;
  std::size_t at = pattern.find("{}");
  if (text.substr(0, std::min(at, pattern.size())) != pattern.substr(0, at)) return std::nullopt;
  if (at == std::string_view::npos) {
    if (text != pattern) return std::nullopt;
    return found;
  }
  text.remove_prefix(at);
  while (at != std::string_view::npos) {
    pattern.remove_prefix(at + 2);
    at = pattern.find("{}");
    const std::string_view literal = pattern.substr(0, at);
    std::size_t end = text.size() - std::min(text.size(), literal.size());
    if (at != std::string_view::npos)
      end = text.find(literal);
    else if (!text.ends_with(literal))
      end = std::string_view::npos;
    if (end == std::string_view::npos || end == 0) return std::nullopt;
    found.emplace_back(text.substr(0, end));
    text.remove_prefix(end + literal.size());
  }
  return found;
}

}  // namespace

std::string Words::sentence(const std::string& text) const {
  if (language_ == Language::kEn) return text;
  for (const Sentence& one : kSentences) {
    const auto found = match(one.en, text);
    if (!found) continue;
    std::string out;
    for (std::size_t i = 0; i < one.zh.size(); ++i) {
      if (one.zh[i] != '{') {
        out += one.zh[i];
        continue;
      }
      out += sentence((*found)[static_cast<std::size_t>(one.zh[i + 1] - '0')]);
      i += 2;
    }
    return out;
  }
  return text;
}

}  // namespace nb
