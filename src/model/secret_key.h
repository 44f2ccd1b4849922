#pragma once

#include <string_view>

namespace headway {

/// Whether what stands under `key` in a configuration is a secret, by the key alone.
///
/// A key is read as words: `apiKey`, `api-key`, `API_KEY` are "api key". Whatever holds password,
/// passwd, passphrase, secret, credential, authorization, apikey, privatekey, accesskey and the
/// like is one. "token" is one at the end of a key, unless it counts or belongs to a vocabulary
/// (`max_tokens`, `pad_token`, `tokens_per_batch`). A key that ends in file, path, dir or url says
/// where something is; one that ends in "key id" names a key. docs/config.md has the whole list.
bool IsSecretKey(std::string_view key);

}  // namespace headway
