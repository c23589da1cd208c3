// Takes out of a text what names people and machines or opens doors, so that it can be shown to
// others: tokens, passwords, addresses, names. Equal stays equal (ip1, host1), so that a fault of
// the network can still be read.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nb::doctor {

class Redactor {
 public:
  // What is this machine's own: each occurrence becomes host1, user1, ~. Empty ones count for
  // nothing.
  Redactor(const std::string& host, const std::string& user, const std::string& home);

  std::string redacted(std::string_view text);
  // What became what, for the terminal of who made it, and for nobody else. Secrets are not in it.
  const std::map<std::string, std::string>& replaced() const { return replaced_; }

 private:
  std::string redacted_line(std::string_view text);
  std::string placeholder(const std::string& kind, const std::string& original);
  std::vector<std::pair<std::string, std::string>> own_;  // longest first
  std::map<std::string, std::string> replaced_;
  std::map<std::string, int> count_;
};

// The variable's value is nobody's business: TOKEN, SECRET, KEY, PASS, AUTH, … in its name.
bool is_secret_name(std::string_view name);

}  // namespace nb::doctor
