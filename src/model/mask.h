#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace headway {

/// Masker: takes secrets out of text before it is kept.
///
/// What is masked: values assigned to names that end in key, token, secret, password and the like;
/// bearer and basic credentials; passwords in URLs; keys in the shapes of AWS, Google, Hugging
/// Face, GitHub, Weights & Biases, OpenAI, Slack; JSON web tokens; private key blocks, also when
/// one end is missing; and whatever the caller's patterns match. Made for whole texts: a secret
/// must not be cut before it is looked for. No promise: a secret that looks like ordinary text
/// stays.
class Masker {
 public:
  /// `patterns` are POSIX extended regular expressions. InvalidArgument names the one that is none.
  static Result<Masker> Make(const std::vector<std::string>& patterns);
  Masker(Masker&&) noexcept;
  Masker& operator=(Masker&&) noexcept;
  ~Masker();

  /// Whether the caller gave any.
  bool has_patterns() const;

  /// `text` with every secret replaced by "[masked]". Cost: linear; any, with the caller's
  /// patterns. ResourceExhausted: one of them could not be matched to its end, so that nothing is
  /// known.
  Result<std::string> Mask(std::string_view text) const;

 private:
  struct Patterns;
  explicit Masker(std::unique_ptr<Patterns> patterns);
  std::unique_ptr<Patterns> patterns_;
};

/// `text` as a Masker without patterns of the caller's makes it. Safe from any thread.
std::string MaskedText(std::string_view text);

/// The end of a stream for keeping: masked, and then cut to its last `limit` bytes at a character
/// boundary. `cut`: `raw` itself is the end of something longer; its first line may begin within a
/// secret and is left out. Errors and cost as of Mask.
Result<std::string> MaskedTail(const Masker& masker, std::string_view raw, bool cut,
                               std::size_t limit);

}  // namespace headway
