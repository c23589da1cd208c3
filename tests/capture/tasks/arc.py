"""Questions with lettered choices, as nanochat's ARC gives them."""
from nanochat.sentences import ANIMALS, COLOUR, COLOURS


class ARC:
    def __len__(self):
        return len(ANIMALS)

    def __getitem__(self, i):
        animal, letters = ANIMALS[i], "ABCD"
        choices = [COLOUR[animal], *[c for c in COLOURS if c != COLOUR[animal]][:3]]
        choices = choices[i % 4:] + choices[: i % 4]
        text = f"Multiple Choice question: Which colour has\nthe {animal}?\n"
        text += "".join(f"- {choice}={letter}\n" for choice, letter in zip(choices, letters))
        text += "\nRespond only with the letter of the correct answer."
        return {"messages": [{"role": "user", "content": text},
                             {"role": "assistant", "content": letters[choices.index(COLOUR[animal])]}],
                "letters": list(letters)}

    def evaluate(self, conversation, assistant_response):
        return assistant_response == conversation["messages"][-1]["content"]
