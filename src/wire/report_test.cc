#include "wire/report.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>

namespace headway::wire {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::util::MessageDifferencer;

// Gives every field of `message`, and of the messages in it, a value of its own.
void FillAll(Message* message, int* next) {
  const Reflection& reflection = *message->GetReflection();
  for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* const field = message->GetDescriptor()->field(i);
    const int value = (*next)++;
    const bool list = field->is_repeated();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT64: reflection.SetInt64(message, field, -value); break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        reflection.SetDouble(message, field, value + 0.5);
        break;
      case FieldDescriptor::CPPTYPE_BOOL: reflection.SetBool(message, field, true); break;
      case FieldDescriptor::CPPTYPE_STRING:
        reflection.SetString(message, field, "text " + std::to_string(value));
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        reflection.SetEnumValue(message, field,
                                1 + value % (field->enum_type()->value_count() - 1));
        break;
      case FieldDescriptor::CPPTYPE_MESSAGE:
        for (int k = 0; k < (list ? 2 : 1); ++k) {
          FillAll(list ? reflection.AddMessage(message, field)
                       : reflection.MutableMessage(message, field),
                  next);
        }
        break;
      default: FAIL() << "a field of another type: " << field->full_name();
    }
  }
}

template <typename Proto>
Proto Filled() {
  Proto message;
  int next = 1;
  FillAll(&message, &next);
  return message;
}

TEST(ReportTest, EveryFieldGoesBothWays) {
  auto report = Filled<v1::Report>();
  report.set_elapsed_ns(1000);
  for (v1::CategoryTime& time : *report.mutable_categories()) {
    time.set_share(static_cast<double>(time.ns()) / 1000);  // derived
  }
  const Result<Report> read = FromProto(report);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_TRUE(MessageDifferencer::Equals(ToProto(*read), report));

  auto interval = Filled<v1::TimelineInterval>();
  interval.set_attempt(3);
  EXPECT_TRUE(MessageDifferencer::Equals(ToProto(*FromProto(interval)), interval));
  interval.clear_attempt();
  EXPECT_EQ(FromProto(interval)->attempt, -1);
  EXPECT_TRUE(MessageDifferencer::Equals(ToProto(*FromProto(interval)), interval));

  const auto step = Filled<v1::StepSummary>();
  EXPECT_TRUE(MessageDifferencer::Equals(ToProto(FromProto(step)), step));
}

TEST(ReportTest, WhatIsNotKnownStaysSo) {
  const Report none;
  const v1::Report wire = ToProto(none);
  EXPECT_FALSE(wire.has_start() || wire.has_window() || wire.has_goodput() || wire.has_mtbf_ns());
  EXPECT_EQ(ToJson(*FromProto(wire)), ToJson(none));
}

// All names of fields, also of messages in the message.
void AddNames(const google::protobuf::Descriptor& message, std::set<std::string>* names) {
  for (int i = 0; i < message.field_count(); ++i) {
    names->insert(message.field(i)->name());
    if (const auto* const inner = message.field(i)->message_type()) AddNames(*inner, names);
  }
}

// The report JSON and the message have the same fields, at every level.
TEST(ReportTest, HasTheFieldsOfTheJson) {
  const std::string json = ToJson(*FromProto(Filled<v1::Report>()), {.indent = 1});
  std::set<std::string> in_json;
  for (std::size_t end = json.find("\":"); end != std::string::npos;
       end = json.find("\":", end + 1)) {
    const std::size_t begin = json.rfind('"', end - 1) + 1;
    in_json.insert(json.substr(begin, end - begin));
  }
  std::set<std::string> in_message;
  AddNames(*v1::Report::descriptor(), &in_message);
  EXPECT_EQ(in_message, in_json);
}

// CATEGORY_STEP_STALL is "step_stall".
template <typename Model>
void CheckNames(const google::protobuf::EnumDescriptor& names, const std::string& prefix,
                std::string_view (*name)(Model)) {
  for (int i = 1; i < names.value_count(); ++i) {
    std::string expected = prefix;
    for (const char c : name(static_cast<Model>(i - 1))) {
      expected += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    EXPECT_EQ(names.value(i)->number(), i);
    EXPECT_EQ(names.value(i)->name(), expected);
  }
}

TEST(ReportTest, NamesAreThoseOfTheModel) {
  CheckNames<Category>(*v1::Category_descriptor(), "CATEGORY_", CategoryName);
  CheckNames<RunState>(*v1::RunState_descriptor(), "RUN_STATE_", RunStateName);
  CheckNames<AttemptEnd>(*v1::AttemptEnd_descriptor(), "ATTEMPT_END_", AttemptEndName);
  CheckNames<Cause>(*v1::Cause_descriptor(), "CAUSE_", CauseName);
}

TEST(ReportTest, WhatANewerOneSaysIsRefused) {
  auto report = Filled<v1::Report>();
  report.mutable_categories(0)->set_category(static_cast<v1::Category>(99));
  const Status status = FromProto(report).status();
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  EXPECT_EQ(status.message(),
            "the report is of a newer headway: category 99 is not known here; upgrade this one");
  report.mutable_categories(0)->clear_category();
  EXPECT_EQ(FromProto(report).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace headway::wire
