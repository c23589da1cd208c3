"""A fault: what it plants, with how many seeds it is run, and what the gate must say.

A fault is planted as edits of the sources (plant.py), as settings of the suite, or as another built-in model.
`want` is a key of VERDICTS; where fewer seeds may honestly say less, `want` has one entry for each number of
seeds.
"""

from dataclasses import dataclass

from plant import Edit

# What a gate may answer: exit codes, and words of its first line (a regular expression).
VERDICTS = {
    # Something broke, in either direction.
    "red": ({1}, r"REGRESSED|SUSPICIOUS"),
    # It broke, and the scores rose or the loss fell.
    "too good": ({1}, r"SUSPICIOUS"),
    "worse": ({1}, r"REGRESSED"),
    # Same weights, other figures: the program that measures has changed, not the model.
    "metric": ({1, 3}, r"(?i)evaluator|numerics|metric"),
    # Not the same question any more.
    "incomparable": ({3}, r"INCOMPARABLE"),
    # Anything but a silent PASS: too small a change for so few seeds.
    "not pass": ({0, 1}, r"(?i)can't tell|INCONCLUSIVE|REGRESSED|SUSPICIOUS"),
    # All candidate seeds are one run under five names.
    "same seeds": ({1, 3, 4}, r"(?i)seeds?"),
    # A change that cannot matter.
    "green": ({0}, r"PASS|IMPROVED|can't tell"),
    # Too small a change for so few seeds, or for this suite: whatever it says.
    "any": ({0, 1, 3}, r""),
}


@dataclass(frozen=True)
class Fault:
    name: str
    group: str  # the command that runs it: bash tests/faults/run.sh <group>
    plants: str  # what it does, in one line
    want: dict  # number of seeds → key of VERDICTS
    edits: tuple = ()
    settings: tuple = ()  # --set of npubench run
    models: tuple = ()  # (baseline, candidate): built-in models instead of trainings
    more: str = ""  # words that the output must hold besides (a regular expression)


def both(want):
    return {1: want, 5: want}


def gross(want):
    """Seen with one seed as well as with four and five."""
    return {1: want, 4: want, 5: want}


STEP = "model/train/step.cpp"
TRAINER = "model/train/base_stage.cpp"
STAGE = "harness/run/train_stage.cpp"
SCALE = "decoder.loss_and_backward(batch.inputs, batch.targets, batch.rows, batch.length, plan.loss_scale / micro_batches)"


def scaled(factor):
    """The gradient's scale of one micro-batch replaced; device time and memory stay."""
    return (Edit(STEP, SCALE, SCALE.replace("plan.loss_scale / micro_batches", factor)),)
