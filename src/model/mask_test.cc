#include "model/mask.h"

#include <gtest/gtest.h>

namespace headway {
namespace {

std::string Masked(std::string_view text, const std::vector<std::string>& patterns = {}) {
  const Result<Masker> masker = Masker::Make(patterns);
  EXPECT_TRUE(masker.ok()) << masker.status().ToString();
  const Result<std::string> masked = masker->Mask(text);
  EXPECT_TRUE(masked.ok()) << masked.status().ToString();
  return *masked;
}

// Put together here, so that no scanner takes this file for a leak.
std::string Repeat(std::string_view prefix, char c, std::size_t count) {
  return std::string(prefix) + std::string(count, c);
}

TEST(Mask, AssignmentsToNamesOfSecrets) {
  const struct {
    const char* text;
    const char* masked;
  } cases[] = {
      {"password=hunter2", "password=[masked]"},
      {"DB_PASSWORD = hunter2 x", "DB_PASSWORD = [masked] x"},
      {"{'api_key': 'abc def', 'lr': 1}", "{'api_key': '[masked]', 'lr': 1}"},
      {"{\"token\": 1}", "{\"token\": 1}"},
      {"{\"access_token\":\"q\"}", "{\"access_token\":\"[masked]\"}"},
      {"AWS_SECRET_ACCESS_KEY=a/b+c==", "AWS_SECRET_ACCESS_KEY=[masked]"},
      {"key=v1&x=2", "key=[masked]&x=2"},
      {"token: abc", "token: [masked]"},
      {"Token:abc next", "Token:[masked] next"},
      {"{\"token\":\"abc\", \"key\": 'q'}", "{\"token\":\"[masked]\", \"key\": '[masked]'}"},
      {"  key: a1-b2.c3\n", "  key: [masked]\n"},
      {"key: abc", "key: [masked]"},
      {"token: 1234567890", "token: [masked]"},
      {"key: a.b=", "key: [masked]"},
      {"key: a.0123456789abcdef0123456789abcdef0", "key: [masked]"},
      {"token=abc,next", "token=[masked],next"},
      {"apiKey: xyz", "apiKey: [masked]"},
      {"secret: s3cr3t\nnext line", "secret: [masked]\nnext line"},
      {"train.py --api-key zzz --lr 3", "train.py --api-key [masked] --lr 3"},
      {"train.py --wandb-key=zzz", "train.py --wandb-key=[masked]"},
      {"curl -H 'X-Auth-Token: abc'", "curl -H 'X-Auth-Token: [masked]'"},
  };
  for (const auto& c : cases) EXPECT_EQ(Masked(c.text), c.masked);
}

TEST(Mask, LeavesOrdinaryTextAlone) {
  for (const char* text : {"KeyError: 'lr'",
                           "Missing key: layers.0.weight",
                           "tokens=4096 tokens/s: 12",
                           "num_token=128",
                           "Unexpected key: a.b_0.c, more",
                           "token: 123",
                           "\"token\": 4",
                           "ms/token: 0.25",
                           "cost per token: 1.5e-05 s",
                           "def get(self, key: str, token: int):",
                           "monkey=banana",
                           "eos_token='</s>' pad_token: <pad>",
                           "api_key=None",
                           "if key == value:",
                           "loss=0.25 step: 7",
                           "see https://example.com/a:b@c",
                           "commit 0123456789abcdef0123456789abcdef01234567",
                           "the bearer of news",
                           "sk-learn and hf_hub and AKIA",
                           "12:30:45 INFO start",
                           ""}) {
    EXPECT_EQ(Masked(text), text);
  }
}

// By work, not by time: what walks through a run again for each name in it takes minutes for each.
TEST(Mask, IsLinearInWhateverText) {
  for (const char* part : {"password=",
                           "password='",
                           "password=\"",
                           "Bearer ",
                           "bearer 0123456789abcdef ",
                           "key:",
                           "eyJ.",
                           "sk-.",
                           "hf_.",
                           "a.",
                           "wandb ",
                           "basic ",
                           "-----BEGIN ",
                           "PRIVATE KEY-----",
                           "://",
                           "://a:b@",
                           "--key ",
                           "--key '",
                           "token: a.",
                           "='",
                           ": ",
                           "0123456789abcdef0123456789abcdef01234567 "}) {
    std::string text;
    while (text.size() < 500'000) text += part;
    EXPECT_FALSE(Masked(text).empty()) << part;
  }
}

TEST(Mask, KnownShapes) {
  for (const std::string& secret :
       {Repeat("AKIA", 'Q', 16), Repeat("AIza", 'x', 35), Repeat("hf_", 'a', 34),
        Repeat("ghp_", 'b', 36), Repeat("github_pat_", 'c', 40), Repeat("sk-", 'd', 40),
        Repeat("hw_", '0', 64), Repeat("hw_link_", 'a', 64), Repeat("ya29.", 'e', 40),
        Repeat("xoxb-", '7', 20), Repeat("local-", 'f', 40),
        "eyJ" + std::string(20, 'a') + "." + std::string(20, 'b') + "." + std::string(20, 'c')}) {
    EXPECT_EQ(Masked("using " + secret + " now"), "using [masked] now") << secret;
    EXPECT_EQ(Masked(secret), "[masked]");
  }
  const std::string hex(40, 'a');
  EXPECT_EQ(Masked("wandb: logged in with " + hex), "wandb: logged in with [masked]");
  EXPECT_EQ(Masked("commit " + hex), "commit " + hex);
}

TEST(Mask, CredentialsOfHeadersAndUrls) {
  EXPECT_EQ(Masked("Authorization: Bearer abc"), "Authorization: Bearer [masked]");
  EXPECT_EQ(Masked("authorization: basic dXNlcjpwYXNz"), "authorization: basic [masked]");
  EXPECT_EQ(Masked("sent bearer 0123456789abcdef"), "sent bearer [masked]");
  EXPECT_EQ(Masked("postgres://me:pa:ss@db:5432/x"), "postgres://me:[masked]@db:5432/x");
  EXPECT_EQ(Masked("https://host:8080/x"), "https://host:8080/x");
  EXPECT_EQ(Masked("https://" + std::string(20, 'a') + "@host/x"), "https://[masked]@host/x");
  EXPECT_EQ(Masked("ssh://git@host/x"), "ssh://git@host/x");
  const std::string hex(64, 'b');
  for (const std::string name : {"X-Amz-Signature", "X-Goog-Signature", "sig"}) {
    EXPECT_EQ(Masked("https://h/k?se=1&" + name + "=" + hex + "&x=1"),
              "https://h/k?se=1&" + name + "=[masked]&x=1");
  }
  EXPECT_EQ(Masked("https://h/share/hw_link_" + hex), "https://h/share/[masked]");
}

TEST(Mask, PrivateKeyBlocksAlsoWithOneEnd) {
  const std::string begin = "-----BEGIN RSA PRIVATE KEY-----";
  const std::string end = "-----END RSA PRIVATE KEY-----";
  EXPECT_EQ(Masked("a\n" + begin + "\nMII\nxyz\n" + end + "\nb"), "a\n" + begin + "[masked]\nb");
  EXPECT_EQ(Masked("MII\nxyz\n" + end + "\nb"), "[masked]\nb");
  EXPECT_EQ(Masked("a\n" + begin + "\nMII\n"), "a\n" + begin + "[masked]");
  EXPECT_EQ(Masked(begin + "1" + end + " x " + begin + "2" + end),
            begin + "[masked]" + " x " + begin + "[masked]");
}

TEST(Mask, PatternsOfTheCaller) {
  EXPECT_EQ(Masked("id 4711, id 42", {"id [0-9]+"}), "[masked], [masked]");
  EXPECT_EQ(Masked("aXbXc", {"X*"}), "a[masked]b[masked]c");  // empty matches hide nothing
  EXPECT_EQ(Masked(std::string_view("a\0zz1", 5), {"z+1"}), std::string_view("a\0[masked]", 10));
  const Result<Masker> bad = Masker::Make({"("});
  EXPECT_EQ(bad.status().code(), Code::kInvalidArgument);
  EXPECT_NE(bad.status().message().find("\"(\""), std::string::npos);
}

TEST(MaskedTail, MasksBeforeItCuts) {
  const Result<Masker> masker = Masker::Make({});
  const std::string secret = Repeat("hf_", 'z', 40);
  // However the text is cut, no part of the secret is left.
  const std::string text = "first line\nlogin " + secret + " done\nlast";
  for (std::size_t limit = 0; limit <= text.size(); ++limit) {
    EXPECT_EQ(MaskedTail(*masker, text, false, limit)->find("zzz"), std::string::npos) << limit;
  }
  // What was cut before began somewhere in a line: that line goes.
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string rest = text.substr(at);
    EXPECT_EQ(MaskedTail(*masker, rest, true, 1000)->find("zzz"), std::string::npos) << at;
  }
}

TEST(MaskedTail, CutsAtACharacter) {
  const Result<Masker> masker = Masker::Make({});
  EXPECT_EQ(*MaskedTail(*masker, "aä", false, 2), "ä");
  EXPECT_EQ(*MaskedTail(*masker, "aä", false, 1), "");
  EXPECT_EQ(*MaskedTail(*masker, "abc", false, 64), "abc");
}

}  // namespace
}  // namespace headway
