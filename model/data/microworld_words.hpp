// The words and wordings of the microworld: plain tables, no choice made here. Every wording ends
// with its value and a full stop, so that a query is the wording up to the value.
#pragma once

#include <array>
#include <string_view>

namespace nb::microworld {

using Text = std::string_view;

inline constexpr int kWordings = 4;

// What is said of a person or a thing: {0} is who or what, the value follows.
struct Attribute {
  Text name;
  std::array<Text, kWordings> wordings;
  std::array<Text, 16> values;  // the first `count` are used
  std::size_t count;
};

inline constexpr std::array<Text, 64> kNames = {
    "Mira",  "Tom",   "Anna",  "Ben",   "Clara",  "David", "Emma", "Felix", "Greta",  "Hugo",
    "Ida",   "Jonas", "Karin", "Leo",   "Maria",  "Nils",  "Olga", "Paul",  "Quinn",  "Rosa",
    "Sam",   "Tina",  "Uwe",   "Vera",  "Walter", "Xenia", "Yann", "Zoe",   "Adam",   "Berta",
    "Carl",  "Dora",  "Erik",  "Frida", "Georg",  "Helen", "Ivan", "Julia", "Kurt",   "Lena",
    "Max",   "Nora",  "Otto",  "Petra", "Ralf",   "Sara",  "Theo", "Ulla",  "Victor", "Wanda",
    "Alma",  "Bruno", "Celia", "Dirk",  "Elsa",   "Frank", "Gina", "Henry", "Irma",   "Jack",
    "Kitty", "Luke",  "Mona",  "Noah"};

inline constexpr std::size_t kTown = 0, kJob = 1, kPet = 2, kColour = 3, kMusic = 4;
inline constexpr std::array<Attribute, 5> kOfPeople = {{
    {"town",
     {"{} lives in", "{} has a house in", "The home of {} is in", "You can visit {} in"},
     {"Oslo", "Cairo", "Paris", "Lima", "Delhi", "Rome", "Tokyo", "Quito", "Berlin", "Dakar",
      "Sydney", "Boston", "Athens", "Madrid", "Dublin", "Havana"},
     16},
    {"job",
     {"{} works as a", "{} is a", "People know {} as a", "{} earns money as a"},
     {"baker", "doctor", "farmer", "painter", "teacher", "sailor", "tailor", "carpenter",
      "gardener", "miner", "potter", "writer", "fisher", "mason", "barber", "cook"},
     16},
    {"pet",
     {"{} has a", "{} feeds a", "The pet of {} is a", "{} plays with a"},
     {"cat", "dog", "parrot", "rabbit", "turtle", "goat", "pony", "mouse"},
     8},
    {"colour",
     {"{} likes the colour", "The coat of {} is", "{} paints the door",
      "The favourite colour of {} is"},
     {"red", "blue", "green", "yellow", "black", "white", "brown", "orange"},
     8},
    {"music",
     {"{} plays the", "{} practises the", "The music of {} comes from the", "{} sings to the"},
     {"piano", "violin", "flute", "trumpet", "guitar", "harp", "drum", "organ"},
     8},
}};

// Two things that a job works with, in the order of kOfPeople[1].values (the jobs).
inline constexpr std::array<std::array<Text, 2>, 16> kTools = {{{"flour", "butter"},
                                                                {"pills", "bandages"},
                                                                {"corn", "hay"},
                                                                {"oil", "brushes"},
                                                                {"chalk", "books"},
                                                                {"ropes", "sails"},
                                                                {"thread", "buttons"},
                                                                {"wood", "nails"},
                                                                {"seeds", "water"},
                                                                {"coal", "iron"},
                                                                {"clay", "fire"},
                                                                {"paper", "ink"},
                                                                {"nets", "hooks"},
                                                                {"bricks", "sand"},
                                                                {"soap", "razors"},
                                                                {"meat", "salt"}}};

// What people do when: on weekdays they work, at weekends and in the first half of the year they
// walk, in the second half they play.
enum class Routine { kWork, kWalk, kPlay };
struct Time {
  Text text;
  Routine routine;
};
inline constexpr std::array<Time, 19> kTimes = {{{"On Monday", Routine::kWork},
                                                 {"On Tuesday", Routine::kWork},
                                                 {"On Wednesday", Routine::kWork},
                                                 {"On Thursday", Routine::kWork},
                                                 {"On Friday", Routine::kWork},
                                                 {"On Saturday", Routine::kWalk},
                                                 {"On Sunday", Routine::kWalk},
                                                 {"In January", Routine::kWalk},
                                                 {"In February", Routine::kWalk},
                                                 {"In March", Routine::kWalk},
                                                 {"In April", Routine::kWalk},
                                                 {"In May", Routine::kWalk},
                                                 {"In June", Routine::kWalk},
                                                 {"In July", Routine::kPlay},
                                                 {"In August", Routine::kPlay},
                                                 {"In September", Routine::kPlay},
                                                 {"In October", Routine::kPlay},
                                                 {"In November", Routine::kPlay},
                                                 {"In December", Routine::kPlay}}};

struct Thing {
  Text name;
  int kind;  // index into kOfThings[0].values
};

inline constexpr std::array<Thing, 48> kThings = {{
    {"hammer", 0}, {"saw", 0},    {"rake", 0},     {"drill", 0},    {"shovel", 0}, {"wrench", 0},
    {"ball", 1},   {"doll", 1},   {"kite", 1},     {"puzzle", 1},   {"marble", 1}, {"robot", 1},
    {"cup", 2},    {"bowl", 2},   {"plate", 2},    {"jug", 2},      {"spoon", 2},  {"teapot", 2},
    {"scarf", 3},  {"hat", 3},    {"shirt", 3},    {"sock", 3},     {"glove", 3},  {"jacket", 3},
    {"chair", 4},  {"bench", 4},  {"stool", 4},    {"sofa", 4},     {"throne", 4}, {"couch", 4},
    {"cart", 5},   {"boat", 5},   {"bus", 5},      {"train", 5},    {"truck", 5},  {"sled", 5},
    {"chest", 6},  {"basket", 6}, {"bag", 6},      {"barrel", 6},   {"bucket", 6}, {"crate", 6},
    {"ring", 7},   {"crown", 7},  {"necklace", 7}, {"bracelet", 7}, {"brooch", 7}, {"medal", 7},
}};

inline constexpr std::array<Attribute, 4> kOfThings = {{
    {"kind",
     {"The {} is a", "Everyone calls the {} a", "We think of the {} as a",
      "In the shop the {} counts as a"},
     {"tool", "toy", "dish", "garment", "seat", "vehicle", "container", "jewel"},
     8},
    {"paint",
     {"The {} looks", "The colour of the {} is", "They painted the {}", "In the sun the {} shines"},
     {"red", "blue", "green", "yellow", "black", "white", "brown", "orange"},
     8},
    {"room",
     {"The {} stands in the", "Look for the {} in the", "They keep the {} in the",
      "You find the {} in the"},
     {"kitchen", "cellar", "attic", "garage", "garden", "hall", "office", "bathroom"},
     8},
    {"material",
     {"The {} is made of", "They make the {} from", "For the {} they use", "A good {} is built of"},
     {"glass", "stone", "leather", "silver", "copper", "rubber", "paper", "bamboo"},
     8},
}};

// Agreement: "The dogs near the river were hungry." Plurals add an s.
inline constexpr std::array<Text, 77> kSubjects = {
    "dog",    "cat",      "horse",   "cow",       "bird",    "king",     "queen",   "guest",
    "boy",    "girl",     "singer",  "soldier",   "driver",  "farmer",   "nurse",   "lion",
    "bear",   "duck",     "monkey",  "student",   "tiger",   "camel",    "zebra",   "donkey",
    "eagle",  "falcon",   "pigeon",  "sparrow",   "beetle",  "spider",   "frog",    "snake",
    "lizard", "dragon",   "giant",   "robber",    "pirate",  "knight",   "prince",  "wizard",
    "lawyer", "banker",   "judge",   "clerk",     "waiter",  "pilot",    "dancer",  "actor",
    "poet",   "tutor",    "cousin",  "uncle",     "aunt",    "brother",  "sister",  "neighbour",
    "friend", "stranger", "visitor", "traveller", "hunter",  "shepherd", "builder", "plumber",
    "porter", "guard",    "scout",   "runner",    "swimmer", "skater",   "rider",   "player",
    "winner", "loser",    "leader",  "helper",    "teacher"};
inline constexpr std::array<Text, 12> kPlaces = {
    "near the river",   "behind the house", "beside the tree", "near the bridge",
    "under the window", "behind the wall",  "beside the lake", "near the tower",
    "behind the gate",  "beside the road",  "near the hill",   "beside the tent"};
inline constexpr std::array<Text, 10> kStates = {"hungry", "asleep", "happy",  "tired", "thirsty",
                                                 "angry",  "quiet",  "afraid", "lost",  "proud"};

}  // namespace nb::microworld
