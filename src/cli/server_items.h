#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/place.h"

#ifdef HEADWAY_REMOTE
#include <google/protobuf/message.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "cli/output.h"
#include "cli/server_call.h"
#endif

/// What a server knows of runs beside their records: what the commands for events, profiles and
/// machines have in common.

namespace headway::cli {

/// Which of them, in which order, and how many.
struct ItemList {
  std::optional<std::string> run;
  std::string filter;
  std::string order_by;
  std::optional<std::int64_t> limit;
};
/// [RUN] --filter --order-by --limit --server --project --json. `what`: "events".
void DescribeItemList(Description* description, const std::string& what, ItemList* list,
                      Place* place);

/// The same without a run; `order`: an example, and what is without it.
void DescribeList(Description* description, const std::string& what, const std::string& order,
                  ItemList* list, Place* place);

#ifdef HEADWAY_REMOTE

inline constexpr std::int64_t kItemsShown = 50;

/// Writes the fields of `message` by their names: a time as RFC 3339 or null, an enum in lower case
/// without its prefix, what is not set as null.
void WriteMessage(const google::protobuf::Message& message, JsonWriter* json);

/// "hang" of EVENT_TYPE_HANG; empty for what nobody said.
std::string EnumText(const google::protobuf::EnumDescriptor& type, int value);

/// The message as a JSON document.
std::string JsonOf(const google::protobuf::Message& message);

/// What is said of one thing, line by line; what is empty is not said.
class Facts {
 public:
  Facts(std::string indent, const Terminal& terminal)
      : indent_(std::move(indent)), terminal_(terminal) {}

  void Add(const std::string& label, const std::string& value);
  const std::string& text() const { return text_; }

 private:
  std::string indent_;
  Terminal terminal_;
  std::string text_;
};

/// "of run r", "in project p": where a list found nothing.
std::string PlaceOfList(const Place& place, const ItemList& list);

/// The pages of a list up to its limit; `rows_of` gives the rows of a page. `*more`: there are
/// others.
template <typename Request, typename Response, typename Rows>
auto FetchItems(const Place& place, std::string_view method, const ItemList& list, Rows rows_of,
                bool* more) {
  using Row = std::decay_t<decltype(*rows_of(std::declval<Response&>())->begin())>;
  constexpr std::int64_t kPage = 1000;
  std::vector<Row> rows;
  Request request;
  request.set_project(place.project);
  if constexpr (requires { request.set_run(""); }) request.set_run(list.run.value_or(""));
  request.set_filter(list.filter);
  request.set_order_by(list.order_by);
  const std::int64_t limit =
      list.limit.value_or(place.json ? std::numeric_limits<std::int64_t>::max() : kItemsShown);
  do {
    const std::int64_t left = limit - static_cast<std::int64_t>(rows.size());
    request.set_page_size(static_cast<std::int32_t>(std::min(kPage, left)));
    Response response;
    const Status status = CallServer(place, method, request, &response);
    if (!status.ok()) return Result<std::vector<Row>>(status);
    for (Row& row : *rows_of(response)) rows.push_back(std::move(row));
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty() && static_cast<std::int64_t>(rows.size()) < limit);
  *more = !request.page_token().empty();
  return Result<std::vector<Row>>(std::move(rows));
}

#endif

}  // namespace headway::cli
