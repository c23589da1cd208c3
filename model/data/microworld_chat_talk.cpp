// mw/talk: one to three turns about the world in full sentences, with greetings and small requests
// between; mw/identity: who the model is. Test conversations of mw/talk ask for held facts only.
#include <memory>
#include <utility>

#include "model/data/microworld_chat_parts.hpp"
#include "model/data/microworld_chat_words.hpp"

namespace nb::microworld {
namespace {

constexpr std::size_t kIdentityWordings = 4;
struct Identity {
  std::array<Text, kIdentityWordings> asked;
  Text answer;
};
constexpr std::array<Identity, 6> kIdentity = {
    {{{"Who are you?", "Tell me who you are.", "What are you?", "Please say who you are."},
      "I am npubench's little model. I can talk about a small world."},
     {{"What is your name?", "Do you have a name?", "What shall I call you?", "Tell me your name."},
      "I have no name. I am npubench's little model."},
     {{"Who made you?", "Who trained you?", "Where do you come from?", "How were you made?"},
      "I was trained by npubench on texts about a small world."},
     {{"What can you do?", "How can you help me?", "What are you good at?",
       "Tell me what you can do."},
      "I can answer questions, count letters, add numbers and write small programs."},
     {{"What do you know?", "What have you learned?", "What can I ask you?",
       "Tell me what you know."},
      "I know the people and the things of a small world."},
     {{"Are you a human?", "Are you a person?", "Are you alive?", "Do you have a body?"},
      "No, I am only a small language model."}}};

constexpr Text kOneWord = "Answer in one word.";
constexpr std::array<Text, 2> kSystems = {"You are a friendly helper.",
                                          "Answer in full sentences."};

struct Reply {
  Text asked, answer;
};
constexpr std::array<Reply, 6> kGreetings = {
    {{"Hello!", "Hello! How can I help you?"},
     {"Good morning!", "Good morning! What would you like to know?"},
     {"Hi, how are you?", "I am fine, thank you. How can I help you?"},
     {"Good evening!", "Good evening! What would you like to know?"},
     {"Thank you!", "You are welcome!"},
     {"Goodbye!", "Goodbye! Have a nice day!"}}};

struct Turn {
  std::string asked, answer;
  std::string word;  // the answer in one word; empty: there is none
};

// (attribute, person or thing) of a split.
using Facts = std::vector<std::pair<std::size_t, std::size_t>>;

Facts facts_of(const std::vector<std::vector<bool>>& held, bool is_test) {
  Facts facts;
  for (std::size_t a = 0; a < held.size(); ++a)
    for (std::size_t s = 0; s < held[a].size(); ++s)
      if (held[a][s] == is_test) facts.emplace_back(a, s);
  return facts;
}

class Talker {
 public:
  Talker(const World& world, WorldSplit split)
      : world_(world),
        is_test_(split == WorldSplit::kTest),
        people_(facts_of(held_facts(world).people, is_test_)),
        things_(facts_of(held_facts(world).things, is_test_)) {}

  Turn fact(Draws& draws) const {
    const std::size_t wording = draws.below(kQuestionWordings);
    if (draws.below(3) == 0) {
      const auto [a, t] = things_[draws.below(things_.size())];
      const Subject& thing = world_.things[t];
      return {filled(kThingQuestions[a][wording], thing.name), told_thing(world_, t, a, draws),
              std::string(kOfThings[a].values[thing.values[a]])};
    }
    const auto [a, p] = people_[draws.below(people_.size())];
    const Subject& person = world_.people[p];
    return {filled(kPeopleQuestions[a][wording], person.name), told_person(world_, p, a, draws),
            std::string(kOfPeople[a].values[person.values[a]])};
  }

  // Never in the test split: it could be the same as in training.
  Turn request(Draws& draws) const {
    const auto [a, p] = people_[draws.below(people_.size())];
    const std::string name(world_.people[p].name);
    switch (draws.below(4)) {
      case 0:
        return {"Say hello to " + name + ".", "Hello, " + name + "!", ""};
      case 1:
        return {"Tell me something about " + name + ".", told_person(world_, p, a, draws), ""};
      case 2: {
        const auto [attribute, t] = things_[draws.below(things_.size())];
        return {"Tell me something about the " + std::string(world_.things[t].name) + ".",
                told_thing(world_, t, attribute, draws), ""};
      }
      default: {
        const Attribute& attribute = kOfPeople[draws.below(kOfPeople.size())];
        const std::vector<std::size_t> values = draws.order(attribute.count);
        const auto value = [&](std::size_t i) { return std::string(attribute.values[values[i]]); };
        const Text noun = kSorts[static_cast<std::size_t>(&attribute - kOfPeople.data())];
        return {"Name three " + std::string(noun) + ".",
                raised(value(0)) + ", " + value(1) + " and " + value(2) + ".", ""};
      }
    }
  }

  Conversation conversation(Draws& draws) const {
    const std::size_t turns = 1 + draws.below(3);
    const bool one_word = draws.below(8) == 0;
    Conversation result;
    if (one_word)
      result.messages.push_back({Role::kSystem, {{PartKind::kText, std::string(kOneWord)}}});
    else if (draws.below(4) == 0)
      result.messages.push_back(
          {Role::kSystem,
           {{PartKind::kText, std::string(kSystems[draws.below(kSystems.size())])}}});
    for (std::size_t i = 0; i < turns; ++i) {
      const std::size_t kind = one_word || is_test_ ? 0 : draws.below(6);
      Turn turn;
      if (kind == 1) {
        const Reply& reply = kGreetings[draws.below(kGreetings.size())];
        turn = {std::string(reply.asked), std::string(reply.answer), ""};
      } else if (kind == 2) {
        turn = request(draws);
      } else {
        turn = fact(draws);
        if (i > 0 && draws.below(2) == 0) turn.asked = "And " + lowered(turn.asked);
      }
      result.messages.push_back(user_says(std::move(turn.asked)));
      result.messages.push_back(
          assistant_says(one_word ? raised(turn.word) + "." : std::move(turn.answer)));
    }
    return result;
  }

 private:
  static constexpr std::array<Text, kOfPeople.size()> kSorts = {"cities", "jobs", "animals",
                                                                "colours", "instruments"};
  World world_;
  bool is_test_;
  Facts people_, things_;
};

}  // namespace

ItemSource talk_source(const World& world, WorldSplit split) {
  return [seed = world.seed, purpose = purpose_of("mw/talk", split),
          talker = std::make_shared<const Talker>(world, split)](std::size_t index) -> WorldItem {
    Draws draws(seed, purpose, index);
    return talker->conversation(draws);
  };
}

ItemSource identity_source(const World& world, WorldSplit split) {
  std::vector<Reply> replies;
  for (std::size_t i = 0; i < kIdentity.size(); ++i) {
    const std::size_t held =
        Draws(world.seed, "microworld/chat/held/identity", i).below(kIdentityWordings);
    for (std::size_t w = 0; w < kIdentityWordings; ++w)
      if ((w == held) == (split == WorldSplit::kTest))
        replies.push_back({kIdentity[i].asked[w], kIdentity[i].answer});
  }
  const std::string purpose = purpose_of("mw/identity", split);
  return [seed = world.seed, purpose, replies,
          picks =
              Picks(world.seed, purpose, split, {replies.size()})](std::size_t index) -> WorldItem {
    Draws draws(seed, purpose, index);
    const Reply& reply = replies[picks.at(index, draws).member];
    return Conversation{
        {user_says(std::string(reply.asked)), assistant_says(std::string(reply.answer))}};
  };
}

}  // namespace nb::microworld
