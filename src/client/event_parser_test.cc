#include "client/event_parser.h"

#include <gtest/gtest.h>

#include <vector>

namespace headway::client {
namespace {

// "KIND/ID: DATA" of each event.
std::vector<std::string> Parse(std::string_view text, std::size_t piece) {
  EventParser parser(1000);
  std::vector<std::string> events;
  for (std::size_t i = 0; i < text.size(); i += piece) {
    EXPECT_TRUE(parser
                    .Add(text.substr(i, piece),
                         [&](const ServerEvent& event) {
                           events.push_back(event.kind + "/" + event.id + ": " + event.data);
                           return true;
                         })
                    .ok());
  }
  return events;
}

TEST(EventParserTest, TakesEventsHoweverTheyCome) {
  constexpr std::string_view kText =
      ": a comment\n\n"
      "retry: 1000\n\n"
      "id: 7\nevent: report\ndata: {\"a\": 1}\n\n"
      "data: first\r\ndata:second\r\n\r\n"
      "data\n\n"
      "id\nevent: x\rdata:  blank\r\r"
      "event: lost\n\n"
      "data: not complete";
  const std::vector<std::string> expected = {"report/7: {\"a\": 1}", "message/7: first\nsecond",
                                             "message/7: ", "x/:  blank"};
  for (std::size_t piece = 1; piece <= kText.size(); ++piece) {
    EXPECT_EQ(Parse(kText, piece), expected) << piece;
  }
}

TEST(EventParserTest, EndsWhenNothingMoreIsWanted) {
  EventParser parser(1000);
  int taken = 0;
  const auto take = [&](const ServerEvent&) { return ++taken < 2; };
  EXPECT_TRUE(parser.Add("data: 1\n\ndata: 2\n\ndata: 3\n\n", take).ok());
  EXPECT_TRUE(parser.ended());
  EXPECT_EQ(taken, 2);
}

TEST(EventParserTest, AnEventHasABound) {
  for (const std::string& line : {"data: " + std::string(600, 'x') + "\n", std::string(600, 'x')}) {
    EventParser parser(1000);
    const auto take = [](const ServerEvent&) { return true; };
    EXPECT_TRUE(parser.Add(line, take).ok());
    EXPECT_EQ(parser.Add(line, take).code(), Code::kResourceExhausted);
    EXPECT_TRUE(parser.ended());
  }
}

}  // namespace
}  // namespace headway::client
