#include "report/sections.hpp"

namespace nb {

std::vector<Block> trend_blocks(const ReportContext& context) {
  return {Paragraph{context.say("no_trends")}};
}

}  // namespace nb
