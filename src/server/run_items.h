#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/item_limits.h"
#include "base/status.h"
#include "server/connect.h"
#include "server/list_request.h"
#include "server/permissions.h"
#include "server/run_registry.h"
#include "store/store.h"

namespace headway::server {

/// RunItems: what services of things that belong to runs have in common: finding them, making each
/// once, changing them by etag, pages, and the log. One for each kind. Any thread.
class RunItems {
 public:
  struct Kind {
    store::ItemKind kind;
    std::string_view noun;   ///< "profile session"
    std::string_view field;  ///< of a request to make one: "session"
    Permission create, get, update, remove;
  };

  /// All must outlive it.
  RunItems(const Kind& kind, store::Store* store, RunRegistry* registry, const Clock* clock)
      : kind_(kind), store_(store), registry_(registry), clock_(clock) {}

  std::int64_t Now() const { return clock_->Wall().ns; }

  /// As RunRegistry::Find.
  Result<store::RunRow> FindRun(const Caller& caller, const std::string& project,
                                const std::string& run) const {
    return registry_->Find(caller, ProjectOf(project), run);
  }
  /// The label of an item's run.
  Result<std::string> LabelOf(const store::ItemRow& item) const;

  /// Which uid a new one gets: what is asked for, that of the request, or a new one.
  Result<store::ItemUid> UidFor(const store::RunRow& run, const std::string& uid,
                                const std::string& request_id) const;

  struct Made {
    store::ItemRow item;
    bool existed = false;
  };
  /// Makes one of this run, with the uid of `item`, or gets the one that is there. AlreadyExists:
  /// it is of another run or kind, or of somebody else and the caller may not read it.
  Result<Made> Create(const Caller& caller, const store::RunRow& run, store::ItemRow item);

  /// The same, but the one that is there becomes as `item`, whoever made it.
  Result<Made> Put(const Caller& caller, const store::RunRow& run, store::ItemRow item);

  /// NotFound: no such item in that project, or the caller's token is for another run.
  Result<store::ItemRow> Find(const Caller& caller, const std::string& project,
                              const store::ItemUid& uid, const std::string& called) const;
  /// The same by 32 hexadecimal digits.
  Result<store::ItemRow> Find(const Caller& caller, const std::string& project,
                              const std::string& uid) const;

  /// Changes `item`, which was found a moment ago, by `change`; once more where somebody else was
  /// faster, unless `etag` says which version is meant. Aborted: it is not of that version.
  Result<store::ItemRow> Update(const Caller& caller, store::ItemRow item, const std::string& etag,
                                const std::function<Status(store::ItemRow*)>& change);

  Status Remove(const Caller& caller, const store::ItemRow& item, const std::string& etag);

  /// A page of a list; `add` is told each item and the label of its run, up to its first error.
  /// Returns the next token.
  template <typename Request>
  Result<std::string> List(
      const Caller& caller, const Request& request,
      const std::function<Status(const store::ItemRow&, const std::string&)>& add) const {
    store::ItemQuery query{.kind = kind_.kind, .project = ProjectOf(request.project())};
    Request asked = request;
    if (!request.run().empty()) {
      const Result<store::RunRow> run = FindRun(caller, request.project(), request.run());
      HEADWAY_RETURN_IF_ERROR(run.status());
      query.run = run->uid;
      asked.set_run(ToHex(run->uid));  // later pages are of the same run
    }
    query.run_name = caller.run;
    const Result<WantedPage> wanted = ReadListRequest(asked, store::ItemFields(kind_.kind),
                                                      limits::kItemsPageUsual, limits::kItemsPage);
    HEADWAY_RETURN_IF_ERROR(wanted.status());
    return ListPage(*wanted, std::move(query), add);
  }

 private:
  Result<std::string> ListPage(
      const WantedPage& wanted, store::ItemQuery query,
      const std::function<Status(const store::ItemRow&, const std::string&)>& add) const;
  void Prepare(const Caller& caller, const store::RunRow& run, store::ItemRow* item) const;
  Status CheckEtag(const std::string& etag, const store::ItemRow& item) const;
  store::AuditRow Done(const Caller& caller, Permission permission,
                       const store::ItemRow& item) const;

  Kind kind_;
  store::Store* store_;
  RunRegistry* registry_;
  const Clock* clock_;
  std::mutex update_mutex_;  // updates of whatever there is take turns
};

/// Bytes of `message`, for the store. InvalidArgument: they are more than one item may have;
/// `noun` begins the message.
Result<std::string> ItemBytes(std::string_view noun, const google::protobuf::Message& message);

/// What ItemBytes made. DataLoss: it is damaged.
template <typename Message>
Result<Message> ParseItem(const store::ItemRow& item) {
  Message message;
  if (message.ParseFromString(item.bytes)) return message;
  return Status(Code::kDataLoss,
                "item " + ToHex(item.uid) + " can't be read; restore a copy of the store");
}

/// The same with what the server says of it; `label` is that of its run.
template <typename Message>
Result<Message> ItemMessage(const store::ItemRow& item, const std::string& label) {
  Result<Message> message = ParseItem<Message>(item);
  if (!message.ok()) return message;
  message->set_project(item.project);
  message->set_run(label);
  message->set_run_uid(ToHex(item.run_uid));
  message->set_etag(std::to_string(item.version));
  message->set_creator(item.creator);
  message->set_create_time(item.created);
  message->set_update_time(item.updated);
  return message;
}

}  // namespace headway::server
