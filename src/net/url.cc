#include "net/url.h"

#include <algorithm>

namespace headway::net {
namespace {

// From behind "://" on.
std::string_view AfterScheme(std::string_view url) {
  const std::size_t mark = url.find("://");
  return mark == std::string_view::npos ? std::string_view() : url.substr(mark + 3);
}

std::string_view HostOf(std::string_view url) {
  const std::string_view authority = AuthorityOf(url);
  if (authority.starts_with('[')) return authority.substr(0, authority.find(']') + 1);
  return authority.substr(0, authority.find(':'));
}

}  // namespace

std::string_view SchemeOf(std::string_view url) {
  const std::size_t mark = url.find("://");
  return mark == std::string_view::npos ? std::string_view() : url.substr(0, mark);
}

std::string_view AuthorityOf(std::string_view url) {
  std::string_view authority = AfterScheme(url);
  authority = authority.substr(0, authority.find_first_of("/?#"));
  const std::size_t at = authority.rfind('@');
  return at == std::string_view::npos ? authority : authority.substr(at + 1);
}

std::string_view TargetOf(std::string_view url) {
  const std::string_view rest = AfterScheme(url);
  const std::size_t begin = rest.find_first_of("/?#");
  return begin == std::string_view::npos ? std::string_view() : rest.substr(begin);
}

bool IsLoopback(std::string_view url) {
  const std::string_view host = HostOf(url);
  if (host == "localhost" || host == "[::1]") return true;
  // A name may begin with "127." as well; only an address is made of digits and dots.
  return host.starts_with("127.") && std::ranges::count(host, '.') == 3 &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

Result<std::string> MakeBaseUrl(std::string_view what, std::string_view given) {
  std::string url(given);
  if (url.find("://") == std::string::npos) {
    url.insert(0, "http://");
    if (!IsLoopback(url)) url.insert(4, "s");
  }
  while (url.ends_with('/')) url.pop_back();
  const std::string_view scheme = SchemeOf(url);
  const std::string_view rest = AfterScheme(url);
  const bool clean = std::ranges::all_of(
      url, [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7f; });
  // What is wrong with it may be a password, so it isn't repeated.
  if ((scheme != "http" && scheme != "https") || HostOf(url).empty() || !clean ||
      rest.find_first_of("@?#") != std::string_view::npos) {
    return Status(Code::kInvalidArgument,
                  std::string(what) +
                      " must be a URL like https://host or http://127.0.0.1:8080, "
                      "without user, password and query");
  }
  return url;
}

}  // namespace headway::net
