#include "model/mask.h"

#include <regex.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace headway {
namespace {

constexpr std::string_view kMask = "[masked]";
constexpr std::size_t npos = std::string_view::npos;

bool IsAlnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool IsWord(char c) { return IsAlnum(c) || c == '_'; }
bool IsToken(char c) { return IsWord(c) || c == '-'; }
bool IsName(char c) { return IsToken(c) || c == '.'; }
bool IsBlank(char c) { return c == ' ' || c == '\t'; }
bool IsSpace(char c) { return IsBlank(c) || c == '\n' || c == '\r'; }
bool IsHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string LowerCase(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), Lower);
  return out;
}

// Keys that show what they are by how they begin. `least` counts what follows the prefix.
struct Shape {
  std::string_view prefix;
  std::size_t least;
};
constexpr std::array kShapes = {
    Shape{"AKIA", 16},        Shape{"ASIA", 16},   Shape{"AIza", 35},      Shape{"ya29.", 20},
    Shape{"GOCSPX-", 20},     Shape{"hf_", 30},    Shape{"api_org_", 30},  Shape{"ghp_", 30},
    Shape{"gho_", 30},        Shape{"ghu_", 30},   Shape{"ghs_", 30},      Shape{"ghr_", 30},
    Shape{"github_pat_", 22}, Shape{"glpat-", 20}, Shape{"sk-", 20},       Shape{"xoxb-", 10},
    Shape{"xoxa-", 10},       Shape{"xoxp-", 10},  Shape{"xoxr-", 10},     Shape{"xoxs-", 10},
    Shape{"wandb_v1_", 20},   Shape{"local-", 40}, Shape{"dckr_pat_", 20}, Shape{"npm_", 36},
    Shape{"hw_link_", 32},    Shape{"hw_", 60},
};

// Names that end like a secret's but are a tokenizer's vocabulary.
constexpr std::array<std::string_view, 9> kVocabulary = {
    "pad_token",  "eos_token",   "bos_token",
    "unk_token",  "sep_token",   "cls_token",
    "mask_token", "image_token", "additional_special_token"};

enum class NameKind { kOrdinary, kBare, kKeyOrToken, kSecret };

NameKind KindOf(std::string_view name) {
  while (!name.empty() && (name.front() == '-' || name.front() == '.')) name.remove_prefix(1);
  const std::string lower = LowerCase(name);
  // "sig": of an address that Azure has signed.
  if (lower == "key" || lower == "token" || lower == "sig") return NameKind::kBare;
  for (const std::string_view word : kVocabulary) {
    if (lower.ends_with(word)) return NameKind::kOrdinary;
  }
  for (const std::string_view end : {"secret", "password", "passwd", "passphrase", "credential",
                                     "credentials", "apikey", "authtoken", "_pwd", "_pass"}) {
    if (lower.ends_with(end)) return NameKind::kSecret;
  }
  // "X-Amz-Signature", "X-Goog-Signature": whoever has such an address may read what is there.
  for (const std::string_view end : {"key", "token", "signature"}) {
    if (!lower.ends_with(end) || lower.size() == end.size()) continue;
    const std::size_t at = lower.size() - end.size();
    const char before = lower[at - 1];
    const bool own_word = before == '_' || before == '-' || before == '.';
    // apiKey, accessToken, but not monkey or turkey.
    const bool capital = name[at] >= 'A' && name[at] <= 'Z';
    if (own_word || capital) return NameKind::kKeyOrToken;
  }
  return NameKind::kOrdinary;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsCount(std::string_view text) {
  return !text.empty() && text.size() <= 8 && std::all_of(text.begin(), text.end(), IsDigit);
}

// 0.25, 1.5e-05
bool IsDecimal(std::string_view text) {
  if (text.size() > 24) return false;
  const std::size_t dot = text.find('.');
  if (dot == npos || !IsCount(text.substr(0, dot))) return false;
  text.remove_prefix(dot + 1);
  const std::size_t e = text.find('e');
  if (e != npos) {
    std::string_view power = text.substr(e + 1);
    if (!power.empty() && (power.front() == '-' || power.front() == '+')) power.remove_prefix(1);
    if (!IsCount(power)) return false;
    text = text.substr(0, e);
  }
  return std::all_of(text.begin(), text.end(), IsDigit);
}

class Finder {
 public:
  explicit Finder(std::string_view text) : text_(text) {}

  void FindAll() {
    PrivateKeys();
    NextLine(0);
    for (std::size_t i = 0; i < text_.size(); ++i) {
      const char c = text_[i];
      if (i == line_end_) NextLine(i + 1);
      if (c == '=' || c == ':') Assignment(i);
      if (c == ':' && text_.substr(i, 3) == "://") UserInfo(i + 3);
      if (c == '-' && text_.substr(i, 2) == "--") SecretFlag(i);
      if (IsWord(c) && (i == 0 || !IsToken(text_[i - 1]))) WordAt(i);
    }
  }

  void Add(std::size_t begin, std::size_t end) {
    if (begin < end) found_.emplace_back(begin, end);
  }

  std::string Replace() {
    std::sort(found_.begin(), found_.end());
    std::string out;
    std::size_t at = 0;
    for (std::size_t i = 0; i < found_.size();) {
      auto [begin, end] = found_[i];
      for (++i; i < found_.size() && found_[i].first <= end; ++i) {
        end = std::max(end, found_[i].second);
      }
      out += text_.substr(at, begin - at);
      out += kMask;
      at = end;
    }
    out += text_.substr(at);
    return out;
  }

 private:
  template <typename Is>
  std::size_t EndOf(std::size_t at, Is is) const {
    while (at < text_.size() && is(text_[at])) ++at;
    return at;
  }
  bool StartsWithAnyCase(std::size_t at, std::string_view lower) const {
    if (text_.size() - at < lower.size()) return false;
    for (std::size_t i = 0; i < lower.size(); ++i) {
      if (Lower(text_[at + i]) != lower[i]) return false;
    }
    return true;
  }
  // As EndOf. Where many begin within one run, it is walked through once: that is what keeps all of
  // this linear. `run` is of this `is` alone.
  struct Run {
    std::size_t begin = 1;
    std::size_t end = 0;
  };
  template <typename Is>
  std::size_t EndOf(std::size_t at, Is is, Run* run) const {
    if (run->begin > at || at > run->end) *run = {at, EndOf(at, is)};
    return run->end;
  }

  void NextLine(std::size_t begin) {
    line_begin_ = begin;
    line_end_ = std::min(text_.find('\n', begin), text_.size());
    speaks_of_.fill(std::nullopt);
  }
  enum Topic { kAuthorization, kWandb };
  bool LineSpeaksOf(Topic topic) {
    constexpr std::string_view kWords[] = {"authorization", "wandb"};
    std::optional<bool>& known = speaks_of_[topic];
    if (!known) {
      const std::string line = LowerCase(text_.substr(line_begin_, line_end_ - line_begin_));
      known = line.find(kWords[topic]) != npos;
    }
    return *known;
  }

  void PrivateKeys() {
    constexpr std::string_view kTail = "PRIVATE KEY-----";
    constexpr std::size_t kHeadMax = 40;  // "-----BEGIN ENCRYPTED "
    std::size_t open = npos;
    bool any = false;
    for (std::size_t at = text_.find(kTail); at != npos; at = text_.find(kTail, at + 1)) {
      const std::size_t dashes = at == 0 ? npos : text_.rfind("-----", at - 1);
      if (dashes == npos || at - dashes > kHeadMax) continue;
      const std::string_view head = text_.substr(dashes, at - dashes);
      if (head.starts_with("-----BEGIN ")) {
        open = at;
      } else if (head.starts_with("-----END ")) {
        // Without its first line the text begins within the block.
        const std::size_t begin = open != npos ? open + kTail.size() : 0;
        if (open != npos || !any) Add(begin, at + kTail.size());
        open = npos;
      }
      any = true;
    }
    if (open != npos) Add(open + kTail.size(), text_.size());
  }

  /// name=value, name: value, "name": "value".
  void Assignment(std::size_t sign) {
    const bool equals = text_[sign] == '=';
    if (equals && sign + 1 < text_.size() && text_[sign + 1] == '=') return;
    std::size_t end = sign;
    while (end > 0 && IsBlank(text_[end - 1])) --end;
    if (end > 0 && (text_[end - 1] == '"' || text_[end - 1] == '\'')) --end;
    std::size_t begin = end;
    while (begin > 0 && IsName(text_[begin - 1])) --begin;
    if (begin == end) return;
    const NameKind kind = KindOf(text_.substr(begin, end - begin));
    if (kind == NameKind::kOrdinary) return;
    const std::size_t value = EndOf(sign + 1, IsBlank);
    // Missing key: layers.0.weight
    const bool path = kind == NameKind::kBare && !equals && IsPath(value);
    if (!path) Value(value, kind);
  }

  // Words with a dot between each two, as parameters of a model are named.
  bool IsPath(std::size_t at) {
    constexpr std::size_t kWordMax = 32;
    const std::size_t end = EndOf(at, IsName, &name_);
    if (end < text_.size() && !IsSpace(text_[end]) &&
        std::string_view(",;)]}").find(text_[end]) == npos) {
      return false;
    }
    bool dots = false;
    for (std::size_t word = 0; at < end; ++at) {
      if (text_[at] == '.') {
        if (word == 0) return false;
        dots = true;
        word = 0;
      } else if (!IsWord(text_[at]) || ++word > kWordMax) {
        return false;
      }
    }
    return dots;
  }

  void Value(std::size_t at, NameKind kind) {
    if (at >= text_.size()) return;
    std::size_t end = at;
    if (text_[at] == '"' || text_[at] == '\'') {
      const char quote = text_[at];
      end = EndOf(
          ++at, [quote](char c) { return c != quote && c != '\n'; }, &quoted_[quote == '"']);
    } else {
      end = EndOf(
          at, [](char c) { return !IsSpace(c) && std::string_view(",;&\"')}]").find(c) == npos; },
          &bare_);
    }
    const std::string_view value = text_.substr(at, end - at);
    for (const std::string_view harmless : {"None", "null", "True", "true", "False", "false"}) {
      if (value == harmless) return;
    }
    // def get(self, key: str)
    for (const std::string_view type : {"str", "int", "bytes", "float", "bool"}) {
      if (kind == NameKind::kBare && value == type) return;
    }
    const bool number = IsCount(value) || (kind == NameKind::kBare && IsDecimal(value));
    if (number && kind != NameKind::kSecret) return;  // num_token=128
    Add(at, end);
  }

  /// --api-key VALUE
  void SecretFlag(std::size_t at) {
    if (at > 0 && !IsSpace(text_[at - 1])) return;
    const std::size_t end = EndOf(at, IsName);
    if (end >= text_.size() || !IsBlank(text_[end])) return;
    const NameKind kind = KindOf(text_.substr(at, end - at));
    if (kind == NameKind::kOrdinary) return;
    const std::size_t value = EndOf(end, IsBlank);
    if (value < text_.size() && text_[value] != '-') Value(value, kind);
  }

  /// scheme://user:password@host
  void UserInfo(std::size_t at) {
    constexpr std::size_t kTokenLeast = 20;
    const std::size_t end = EndOf(
        at, [](char c) { return !IsSpace(c) && std::string_view("/?#\"'<>").find(c) == npos; });
    const std::string_view authority = text_.substr(at, end - at);
    const std::size_t sign = authority.rfind('@');
    if (sign == npos) return;
    const std::size_t colon = authority.substr(0, sign).find(':');
    if (colon != npos) Add(at + colon + 1, at + sign);
    // A token alone, and not git@host or a person's name.
    if (colon == npos && sign >= kTokenLeast) Add(at, at + sign);
  }

  void WordAt(std::size_t at) {
    for (const Shape& shape : kShapes) {
      if (!text_.substr(at).starts_with(shape.prefix)) continue;
      const std::size_t body = at + shape.prefix.size();
      const std::size_t end = EndOf(body, IsName, &name_);
      if (end - body >= shape.least) Add(at, end);
    }
    for (const std::string_view scheme : {"bearer", "basic"}) {
      if (!StartsWithAnyCase(at, scheme)) continue;
      const std::size_t blank = at + scheme.size();
      const std::size_t value = EndOf(blank, IsBlank);
      if (value == blank) continue;
      const std::size_t end = EndOf(
          value, [](char c) { return IsName(c) || c == '/' || c == '+' || c == '=' || c == '~'; });
      const bool header = LineSpeaksOf(kAuthorization);
      if (header || (scheme == "bearer" && end - value >= 16)) Add(value, end);
    }
    if (text_.substr(at).starts_with("eyJ")) {
      const std::size_t end = EndOf(at, IsName, &name_);
      const std::string_view token = text_.substr(at, end - at);
      const std::size_t dot = token.find('.');
      if (token.size() >= 30 && dot != npos && token.find('.', dot + 1) != npos) Add(at, end);
    }
    // A key of Weights & Biases looks like any SHA-1: only where the line speaks of it.
    if (IsHex(text_[at])) {
      const std::size_t end = EndOf(at, IsHex);
      if (end - at == 40 && (end == text_.size() || !IsToken(text_[end])) && LineSpeaksOf(kWandb)) {
        Add(at, end);
      }
    }
  }

  std::string_view text_;
  Run quoted_[2];  // by ', by "
  Run bare_;
  Run name_;
  std::size_t line_begin_ = 0;
  std::size_t line_end_ = 0;
  std::array<std::optional<bool>, 2> speaks_of_;
  std::vector<std::pair<std::size_t, std::size_t>> found_;  // half-open
};

}  // namespace

struct Masker::Patterns {
  std::vector<regex_t> compiled;
  ~Patterns() {
    for (regex_t& pattern : compiled) ::regfree(&pattern);
  }
};

Masker::Masker(std::unique_ptr<Patterns> patterns) : patterns_(std::move(patterns)) {}
Masker::Masker(Masker&&) noexcept = default;
Masker& Masker::operator=(Masker&&) noexcept = default;
Masker::~Masker() = default;

Result<Masker> Masker::Make(const std::vector<std::string>& patterns) {
  auto compiled = std::make_unique<Patterns>();
  for (const std::string& pattern : patterns) {
    regex_t regex;
    if (const int error = ::regcomp(&regex, pattern.c_str(), REG_EXTENDED | REG_NEWLINE);
        error != 0) {
      char reason[128];
      ::regerror(error, &regex, reason, sizeof reason);
      return Status(Code::kInvalidArgument,
                    "\"" + pattern + "\" is no regular expression: " + reason);
    }
    compiled->compiled.push_back(regex);
  }
  return Masker(std::move(compiled));
}

bool Masker::has_patterns() const { return !patterns_->compiled.empty(); }

Result<std::string> Masker::Mask(std::string_view text) const {
  Finder finder(text);
  finder.FindAll();
  for (const regex_t& pattern : patterns_->compiled) {
    std::size_t at = 0;
    while (at < text.size()) {
      regmatch_t match;
      match.rm_so = static_cast<regoff_t>(at);
      match.rm_eo = static_cast<regoff_t>(text.size());
      const int answer = ::regexec(&pattern, text.data(), 1, &match, REG_STARTEND);
      if (answer == REG_NOMATCH) break;
      if (answer != 0)
        return Status(Code::kResourceExhausted, "a regular expression needs too much");
      finder.Add(static_cast<std::size_t>(match.rm_so), static_cast<std::size_t>(match.rm_eo));
      at = std::max(at + 1, static_cast<std::size_t>(match.rm_eo));
    }
  }
  return finder.Replace();
}

std::string MaskedText(std::string_view text) {
  Finder finder(text);
  finder.FindAll();
  return finder.Replace();
}

Result<std::string> MaskedTail(const Masker& masker, std::string_view raw, bool cut,
                               std::size_t limit) {
  if (cut) {
    const std::size_t line = raw.find('\n');
    raw.remove_prefix(line == npos ? std::min<std::size_t>(raw.size() / 2, 4096) : line + 1);
  }
  Result<std::string> masked = masker.Mask(raw);
  if (!masked.ok() || masked->size() <= limit) return masked;
  const std::string& text = *masked;
  std::size_t begin = text.size() - limit;
  while (begin < text.size() && (text[begin] & 0xc0) == 0x80) ++begin;
  return text.substr(begin);
}

}  // namespace headway
