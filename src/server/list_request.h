#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "model/filter.h"

/// What requests for a page of a list have in common. Pure.

namespace headway::server {

/// "" stands for the project "default".
std::string ProjectOf(const std::string& project);

/// How many rows a page has. InvalidArgument: fewer than none.
Result<std::size_t> PageSize(std::int32_t asked, int usual, int most);

/// Which part of which list.
struct WantedPage {
  Filter filter;
  RowOrder order;
  std::string after;  ///< where the page before ended, as the store says; empty: none was before
  std::size_t count = 0;
  std::string question;  ///< what was asked, but for the part

  /// The token of the next page, which begins behind `next`; empty where that is. No secret: what
  /// it could tell may be asked for anyway.
  std::string Token(const std::string& next) const;
};

namespace list_request_internal {
Result<WantedPage> Read(std::span<const FilterField> fields, const std::string& filter,
                        const std::string& order_by, const std::string& page_token,
                        std::string question);
}  // namespace list_request_internal

/// Of a request with project, filter, order_by, page_size and page_token. InvalidArgument names
/// which of them is wrong.
template <typename Request>
Result<WantedPage> ReadListRequest(const Request& request, std::span<const FilterField> fields,
                                   int usual, int most) {
  const Result<std::size_t> size = PageSize(request.page_size(), usual, most);
  HEADWAY_RETURN_IF_ERROR(size.status());
  Request question = request;
  question.clear_page_token();
  question.clear_page_size();
  question.set_project(ProjectOf(request.project()));
  Result<WantedPage> wanted = list_request_internal::Read(
      fields, request.filter(), request.order_by(), request.page_token(),
      question.GetTypeName() + "/" + question.SerializeAsString());
  if (wanted.ok()) wanted->count = *size;
  return wanted;
}

}  // namespace headway::server
