// Wordings of the microworld's conversations: plain tables, no choice made here. {} is who or what
// the question is about.
#pragma once

#include <array>

#include "model/data/microworld_words.hpp"

namespace nb::microworld {

inline constexpr std::size_t kQuestionWordings = 3;

// In the order of kOfPeople and kOfThings.
inline constexpr std::array<std::array<Text, kQuestionWordings>, kOfPeople.size()>
    kPeopleQuestions = {
        {{"Where does {} live?", "In which city does {} live?", "Which city is the home of {}?"},
         {"What is the job of {}?", "What does {} work as?", "Which job does {} have?"},
         {"Which animal does {} have?", "Which pet does {} feed?", "What is the pet of {}?"},
         {"Which colour does {} like?", "What colour is the coat of {}?",
          "What is the favourite colour of {}?"},
         {"Which instrument does {} play?", "Which instrument does {} practise?",
          "What is the instrument of {}?"}}};
inline constexpr std::array<std::array<Text, kQuestionWordings>, kOfThings.size()> kThingQuestions =
    {{{"What kind of thing is the {}?", "What do people call the {}?",
       "What does the {} count as?"},
      {"What colour is the {}?", "Which colour does the {} have?", "What is the colour of the {}?"},
      {"Where is the {}?", "Where do they keep the {}?", "In which place do you find the {}?"},
      {"What is the {} made of?", "What do they make the {} from?",
       "Which material is the {} made of?"}}};
// {} is the value.
inline constexpr std::array<std::array<Text, 2>, kOfPeople.size()> kWhoQuestions = {
    {{"Who lives in {}?", "Who has a house in {}?"},
     {"Who works as a {}?", "Who is a {}?"},
     {"Who has a {}?", "Who feeds a {}?"},
     {"Who likes the colour {}?", "Who has a coat that is {}?"},
     {"Who plays the {}?", "Who practises the {}?"}}};
inline constexpr std::array<Text, kOfPeople.size()> kSamePersonQuestions = {
    "Who lives in the same city as {}?", "Who has the same job as {}?",
    "Who has the same kind of pet as {}?", "Who likes the same colour as {}?",
    "Who plays the same instrument as {}?"};
inline constexpr std::array<Text, kOfThings.size()> kSameThingQuestions = {
    "Which thing is of the same kind as the {}?", "Which thing has the same colour as the {}?",
    "Which thing is in the same place as the {}?",
    "Which thing is made of the same material as the {}?"};

// What the routines tell of a person; {} is the person, the time follows.
struct RoutineQuestion {
  Routine routine;
  std::size_t attribute;  // of kOfPeople; kJob: the answer is the tools of the job
  Text wording;
};
inline constexpr std::array<RoutineQuestion, 5> kRoutineQuestions = {
    {{Routine::kWork, kJob, "What does {} work with"},
     {Routine::kWalk, kTown, "Through which city does {} walk"},
     {Routine::kWalk, kPet, "With which animal does {} walk"},
     {Routine::kPlay, kColour, "Which colour does {} wear"},
     {Routine::kPlay, kMusic, "Which instrument does {} play"}}};

inline constexpr std::array<Text, 7> kDays = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                              "Friday", "Saturday", "Sunday"};
inline constexpr std::array<Text, 12> kMonths = {"January",   "February", "March",    "April",
                                                 "May",       "June",     "July",     "August",
                                                 "September", "October",  "November", "December"};
// Of Routine's three, and one that is never right.
inline constexpr std::array<Text, 4> kDoings = {"work", "walk", "play", "sleep"};

}  // namespace nb::microworld
