// A measured row beside its prediction on the machine that it names. For the validations of kernels
// and collectives.
#pragma once

#include <map>
#include <string>

#include "model/predict/family_values.hpp"
#include "model/predict/validation.hpp"

namespace nb {

// Machines by name, under their own stacks, each composed once.
class PricedMachines {
 public:
  explicit PricedMachines(const OwnConstants& own) : own_(own) {}

  // Errors begin with `where`.
  Result<const PricedMachine*> find(const std::string& name, const std::string& where) {
    auto found = machines_.find(name);
    if (found == machines_.end()) {
      NB_TRY(PricedMachine machine, priced_machine(name, "", own_), where);
      found = machines_.emplace(name, std::move(machine)).first;
    }
    return &found->second;
  }

 private:
  const OwnConstants& own_;
  std::map<std::string, PricedMachine, std::less<>> machines_;
};

// predict(row, profile): in the row's unit. Excluded rows are as they were measured.
template <class Predict>
Result<ValidationRow> validated_row(const CalibrationRow& row, PricedMachines& machines,
                                    const Predict& predict) {
  ValidationRow validated = measured_row(row);
  if (row.use == RowUse::kExclude) return validated;
  NB_TRY(const PricedMachine* machine, machines.find(validated.machine, row.where));
  NB_TRY(validated.predicted, predict(row, machine->profile));
  validated.error = error_of(*validated.predicted, *validated.measured, validated.unit);
  return validated;
}

}  // namespace nb
