#include "formats/config/reader.h"

#include <gtest/gtest.h>

#include <string>

#include "base/limits.h"

namespace headway::config {
namespace {

// "path=value" of each, and "(masked)".
std::string Flat(std::string_view json) {
  const Result<ConfigValue> value = ReadConfig(json);
  if (!value.ok()) return value.status().message();
  std::string out;
  for (const ConfigEntry& entry : Flatten(*value).entries) {
    out += (out.empty() ? "" : "; ") + entry.path + "=" + entry.value +
           (entry.masked ? " (masked)" : "");
  }
  return out;
}

TEST(ReadConfig, KeepsNumbersAsTheyWereWritten) {
  EXPECT_EQ(Flat(R"({"a":3e-4,"b":0.10,"c":123456789012345678901234567890,"d":-0,"e":1e999,)"
                 R"("f":1E+2})"),
            "a=3e-4; b=0.10; c=123456789012345678901234567890; d=-0; e=1e999; f=1E+2");
}

TEST(ReadConfig, MakesPathsThatMeanOneThing) {
  EXPECT_EQ(Flat(R"({"o":{"lr":1},"l":[{"n":"x"},{"n":[1,"a",null]},[[2]]],"a.b":{"":1,"c d":2},)"
                 R"("x[0]":3,"é":4,"q\"q":5,"e":{},"f":[]})"),
            R"(o.lr=1; l[0].n="x"; l[1].n=[1,"a",null]; l[2][0]=[2]; "a.b".""=1; "a.b"."c d"=2; )"
            R"("x[0]"=3; é=4; "q\"q"=5; e={}; f=[])");
  EXPECT_EQ(Flat("{}"), "");
  EXPECT_EQ(Flat(" \n{ \"a\" : true , \"b\" : [ 1 , 2 ] }\n"), "a=true; b=[1,2]");
}

TEST(ReadConfig, OneSpellingOfEachString) {
  EXPECT_EQ(Flat(R"({"\u0061":"\u0041\/\n\u00e9"})"), "a=\"A/\\né\"");
}

TEST(ReadConfig, BringsLaterKeysOverEarlierOnes) {
  EXPECT_EQ(Flat(R"({"a":1,"b":2,"a":3})"), "a=3; b=2");
  EXPECT_EQ(Flat(R"({"a":{"x":1,"y":2},"a":{"y":3}})"), "a.x=1; a.y=3");
  EXPECT_EQ(Flat(R"({"a":[1,2,3],"a":[4]})"), "a=[4]");
  EXPECT_EQ(Flat(R"({"a":{"x":1},"a":5})"), "a=5");
}

TEST(ReadConfig, RefusesWhatIsNoObject) {
  for (const char* json : {"[]", "1", "\"a\"", "null", "true"}) {
    EXPECT_EQ(Flat(json), "it is no JSON object") << json;
  }
  for (const char* json : {"",
                           "{",
                           "{\"a\"",
                           "{\"a\":",
                           "{\"a\":1",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{\"a\":NaN}",
                           "{\"a\":Infinity}",
                           "{\"a\":01}",
                           "{\"a\":1.}",
                           "{\"a\":.5}",
                           "{\"a\":+1}",
                           "{\"a\":1 2}",
                           "{\"a\":tru}",
                           "{\"a\":truex}",
                           "{\"a\":nul}",
                           "{\"a\":\"x}",
                           "{\"a\":\"\\x\"}",
                           "{\"a\":[1,]}",
                           "{\"a\":[1 2]}",
                           "{\"a\":1 \"b\":2}",
                           "{'a':1}",
                           "{\"a\":\"\n\"}",
                           "{\"a\":\"\\ud800\"}",
                           "{\"a\":[1}",
                           "nonsense",
                           "{\"a\":-}"}) {
    const Result<ConfigValue> value = ReadConfig(json);
    EXPECT_FALSE(value.ok()) << json;
    EXPECT_EQ(value.status().code(), Code::kInvalidArgument) << json;
  }
  for (const char* json : {"{\"a\":1}{}", "{\"a\":1}]", "{\"a\":1} x"}) {
    EXPECT_EQ(ReadConfig(json).status().code(), Code::kInvalidArgument) << json;
  }
  EXPECT_EQ(ReadConfig(std::string("{\"a\":1}\0{}", 10)).status().code(), Code::kInvalidArgument);
}

TEST(ReadConfig, RefusesWhatIsNoUtf8) {
  for (const char* bytes : {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xe2\x82"}) {
    EXPECT_EQ(Flat(std::string("{\"a\":\"") + bytes + "\"}"), "it is not valid UTF-8");
    EXPECT_EQ(Flat(std::string("{\"") + bytes + "\":1}"), "it is not valid UTF-8");
  }
}

std::string Nested(int levels, const char* open, const char* close) {
  std::string json = "1";
  std::string before;
  for (int i = 1; i < levels; ++i) {
    before += open;
    json += close;
  }
  return "{\"a\":" + before + json + "}";
}

TEST(ReadConfig, RefusesWhatIsNestedTooDeep) {
  EXPECT_TRUE(ReadConfig(Nested(limits::kJsonDepth, "[", "]")).ok());
  EXPECT_TRUE(ReadConfig(Nested(limits::kJsonDepth, "{\"b\":", "}")).ok());
  for (const int levels : {limits::kJsonDepth + 1, 1000, 1025, 1'000'000}) {
    EXPECT_EQ(Flat(Nested(levels, "[", "]")), "it is nested deeper than 64 levels") << levels;
    EXPECT_EQ(Flat(Nested(levels, "{\"b\":", "}")), "it is nested deeper than 64 levels") << levels;
  }
}

TEST(ReadConfig, RefusesWhatHasTooManyValues) {
  std::string json = "{\"a\":[0";
  for (std::uint64_t i = 2; i < limits::kConfigValues; ++i) json += ",0";
  EXPECT_TRUE(ReadConfig(json + "]}").ok());
  const Result<ConfigValue> value = ReadConfig(json + ",0]}");
  EXPECT_EQ(value.status().code(), Code::kResourceExhausted) << value.status().message();
}

TEST(Flatten, CountsWhatIsTooMuchToShow) {
  // Each path repeats the long key.
  std::string json = "{\"" + std::string(1 << 20, 'k') + "\":[{}";
  for (int i = 1; i < 100; ++i) json += ",{}";
  const Result<ConfigValue> value = ReadConfig(json + "]}");
  ASSERT_TRUE(value.ok());
  const FlatConfig flat = Flatten(*value);
  EXPECT_EQ(flat.entries.size() + flat.left_out, 100);
  EXPECT_LT(flat.entries.size(), 65);
  EXPECT_GT(flat.entries.size(), 60);
}

TEST(Flatten, MasksByKey) {
  EXPECT_EQ(Flat(R"({"hub_token":"x","api_key":["a","b"],"secrets":{"a":1},"password":123456})"),
            R"(hub_token="***" (masked); api_key="***" (masked); secrets="***" (masked); )"
            R"(password="***" (masked))");
  // What nobody keeps secret shows whether there is one.
  EXPECT_EQ(Flat(R"({"token":null,"use_auth_token":true,"password":"","secrets":{},"api_key":[]})"),
            R"(token=null; use_auth_token=true; password=""; secrets={}; api_key=[])");
  EXPECT_EQ(Flat(R"({"env":{"HF_TOKEN":"x","HOME":"/root"},"eos_token":"</s>","max_tokens":5})"),
            R"(env.HF_TOKEN="***" (masked); env.HOME="/root"; eos_token="</s>"; max_tokens=5)");
  EXPECT_EQ(Flat(R"({"a.password":"x"})"), R"("a.password"="***" (masked))");
}

TEST(Flatten, MasksByValue) {
  EXPECT_EQ(Flat(R"({"db":"postgres://u:pw@host/x","url":"https://host/x","at":"u@host"})"),
            R"(db="***" (masked); url="https://host/x"; at="u@host")");
  EXPECT_EQ(Flat(R"({"odbc":"Server=h;Password=pw;","cmd":"train --api-key abcdef --lr 1"})"),
            R"(odbc="***" (masked); cmd="***" (masked))");
  EXPECT_EQ(Flat(R"({"s":"line\nexport HF_TOKEN=abcdefgh\n"})"), R"(s="***" (masked))");
  const std::string key = "hf_" + std::string(34, 'a');
  EXPECT_EQ(Flat(R"({"x":")" + key + R"(","y":["a",")" + key + R"("]})"),
            R"(x="***" (masked); y=["a","***"] (masked))");
}

TEST(Flatten, LeavesOrdinaryValuesAlone) {
  for (const std::string text :
       {"--xla_gpu_enable_latency_hiding_scheduler=true --xla_tpu_enable_async_collective_fusion=1",
        "{% for m in messages %}{{ bos_token + m['content'] + eos_token }}{% endfor %}",
        "c4/en:3.0.1",
        "gs://bucket/path/key",
        "s3://bucket/token",
        "https://user@host/x",
        "meta-llama/Llama-3.1-8B",
        "2026-01-01T00:00:00Z",
        "sk-learn",
        "hf_hub",
        "basic",
        "bearer",
        "0123456789abcdef0123456789abcdef01234567",
        "ghcr.io/org/image@sha256:0123456789abcdef",
        "fsdp:2,tensor:4",
        "max_tokens=4096,num_tokens=8",
        "eos_token=</s>",
        "tokens_per_batch=1",
        "adamw",
        "bf16",
        "checkpoint/step_100",
        "expandable_segments:True",
        "IB,eth0",
        "fully_sharded",
        "localhost:8476",
        "10.0.0.1:29500",
        "key",
        "token"}) {
    EXPECT_EQ(Flat("{\"x\":\"" + text + "\"}"), "x=\"" + text + "\"");
  }
}

TEST(Flatten, MasksInListsOfWordsAndOfVariables) {
  EXPECT_EQ(Flat(R"({"argv":["train","--hub_token","abc","--lr","1","--token"]})"),
            R"(argv=["train","--hub_token","***","--lr","1","--token"] (masked))");
  EXPECT_EQ(Flat(R"({"env":[{"name":"HF_TOKEN","value":"a"},{"name":"HOME","value":"b"}]})"),
            R"(env[0].name="HF_TOKEN"; env[0].value="***" (masked); env[1].name="HOME"; )"
            R"(env[1].value="b")");
}

}  // namespace
}  // namespace headway::config
