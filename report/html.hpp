// Parts of the HTML renderer, for html*.cpp only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "report/document.hpp"

namespace nb {

std::string html_style();        // html_style.cpp
std::string_view html_script();  // html_script.cpp: the items' filter and search

// The page's Content-Security-Policy: nothing is fetched from anywhere, and of scripts and styles
// only these run, known by their hashes. So event handlers and style attributes do nothing,
// whatever text brought them in. A browser hashes what its parser made of a block: neither may hold
// carriage returns or zero bytes. An empty block is none.
std::string html_policy(std::string_view style, std::string_view script);

// One table. Of wide ones a style rule per column is added to `column_names`: where a screen is
// narrow, every row becomes a card, and the rule names its cells.
std::string html_table(const TextTable& table, const std::string& caption, std::size_t index,
                       std::string& column_names, const Pictures& pictures = {});
// A table of the first items, the data for the script, and the script.
std::string html_items(const ItemList& list, const Words& say, std::size_t index,
                       std::string& column_names);

}  // namespace nb
