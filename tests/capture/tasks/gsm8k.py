"""Problems with a number as the answer, as nanochat's GSM8K gives them."""
import re


class GSM8K:
    def __len__(self):
        return 3

    def __getitem__(self, i):
        parts = [{"type": "text", "text": f"{i} and 2 are "}, {"type": "python", "text": f"{i}+2"},
                 {"type": "python_output", "text": str(i + 2)}, {"type": "text", "text": f"{i + 2}.\n#### {i + 2}"}]
        return {"messages": [{"role": "user", "content": f"What is {i} and 2?"},
                             {"role": "assistant", "content": parts}]}

    def evaluate(self, conversation, assistant_response):
        number = lambda text: re.findall(r"#### (\-?[0-9\.\,]+)", text)[:1]
        return number(assistant_response) == number(conversation["messages"][-1]["content"][-1]["text"])
