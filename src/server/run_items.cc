#include "server/run_items.h"

#include <utility>

#include "base/limits.h"
#include "server/message_parts.h"
#include "server/run_details.h"

namespace headway::server {
namespace {

Status Bad(const std::string& what) { return {Code::kInvalidArgument, what}; }

}  // namespace

Result<std::string> RunItems::LabelOf(const store::ItemRow& item) const {
  const Result<store::RunRow> run = store_->FindRun(item.run_uid);
  if (!run.ok()) return run.status();
  return run->label;
}

Result<store::ItemUid> RunItems::UidFor(const store::RunRow& run, const std::string& uid,
                                        const std::string& request_id) const {
  const std::string noun(kind_.noun);
  HEADWAY_RETURN_IF_ERROR(CheckRequestId(request_id, uid));
  if (!uid.empty()) {
    const Result<store::ItemUid> parsed = ParseUid<store::ItemUid>(uid);
    if (!parsed.ok()) {
      return Bad(std::string(kind_.field) + ".uid: " + parsed.status().message());
    }
    if (*parsed == store::ItemUid()) return Bad(std::string(kind_.field) + ".uid is none: all 0");
    return parsed;
  }
  if (request_id.empty()) return RandomUid<store::ItemUid>();
  return DeriveUid<store::ItemUid>(noun + "/" + ToHex(run.uid) + "/request/" + request_id);
}

store::AuditRow RunItems::Done(const Caller& caller, Permission permission,
                               const store::ItemRow& item) const {
  return {.time = Now(),
          .who = caller.name,
          .action = std::string(PermissionName(permission)),
          .what = std::string(kind_.noun) + " \"" + item.name + "\", " + ToHex(item.uid) +
                  ", run \"" + item.run + "\", " + ToHex(item.run_uid),
          .project = item.project};
}

void RunItems::Prepare(const Caller& caller, const store::RunRow& run, store::ItemRow* item) const {
  item->kind = kind_.kind;
  item->run_uid = run.uid;
  item->project = run.project;
  item->run = run.name;
  item->creator = caller.name;
  item->created = item->updated = Now();
}

Result<RunItems::Made> RunItems::Put(const Caller& caller, const store::RunRow& run,
                                     store::ItemRow item) {
  constexpr int kTries = 10;
  Prepare(caller, run, &item);
  const store::AuditRow audit = Done(caller, kind_.create, item);
  for (int tries = 1;; ++tries) {
    const Status made = store_->CreateItem(item, limits::kRunItems, audit);
    if (made.ok()) return Made{std::move(item), false};
    if (made.code() != Code::kAlreadyExists) return made;
    Result<store::ItemRow> found = store_->FindItem(kind_.kind, item.uid);
    Status status = found.status();
    if (found.ok()) {
      if (found->bytes == item.bytes) return Made{*std::move(found), true};
      store::ItemRow replaced = item;
      replaced.start = found->start;
      replaced.version = found->version;
      status = store_->UpdateItem(replaced, audit);
    }
    if (status.ok()) {
      found = store_->FindItem(kind_.kind, item.uid);
      if (!found.ok()) return found.status();
      return Made{*std::move(found), true};
    }
    // Somebody changed or removed it meanwhile.
    const bool again = status.code() == Code::kAborted || status.code() == Code::kNotFound;
    if (!again || tries == kTries) return status;
  }
}

Result<RunItems::Made> RunItems::Create(const Caller& caller, const store::RunRow& run,
                                        store::ItemRow item) {
  Prepare(caller, run, &item);
  const Status made = store_->CreateItem(item, limits::kRunItems, Done(caller, kind_.create, item));
  if (made.ok()) return Made{std::move(item), false};
  if (made.code() != Code::kAlreadyExists) return made;
  Result<store::ItemRow> found = store_->FindItem(kind_.kind, item.uid);
  if (!found.ok() && found.status().code() != Code::kNotFound) return found.status();
  const bool theirs = found.ok() && found->run_uid == run.uid &&
                      (caller.permissions.Has(kind_.get) || found->creator == caller.name);
  if (theirs) return Made{*std::move(found), true};
  // Nothing is told of what it is.
  return Status(Code::kAlreadyExists, "the uid " + ToHex(item.uid) +
                                          " is taken, perhaps by a request of somebody else with "
                                          "the same request_id");
}

Result<store::ItemRow> RunItems::Find(const Caller& caller, const std::string& project,
                                      const store::ItemUid& uid, const std::string& called) const {
  Result<store::ItemRow> item = store_->FindItem(kind_.kind, uid);
  if (!item.ok() && item.status().code() != Code::kNotFound) return item.status();
  if (!item.ok() || item->project != ProjectOf(project) ||
      (!caller.run.empty() && item->run != caller.run)) {
    return Status(Code::kNotFound, "there is no " + std::string(kind_.noun) + " \"" + called +
                                       "\" in project \"" + ProjectOf(project) + "\"");
  }
  return item;
}

Result<store::ItemRow> RunItems::Find(const Caller& caller, const std::string& project,
                                      const std::string& uid) const {
  const Result<store::ItemUid> parsed = ParseUid<store::ItemUid>(uid);
  // Nothing has the uid of all 0.
  return Find(caller, project, parsed.ok() ? *parsed : store::ItemUid(), uid);
}

Status RunItems::CheckEtag(const std::string& etag, const store::ItemRow& item) const {
  const std::string now = std::to_string(item.version);
  if (etag.empty() || etag == now) return OkStatus();
  return {Code::kAborted, std::string(kind_.noun) + " " + ToHex(item.uid) +
                              " was changed meanwhile: its etag is \"" + now + "\"; read it again"};
}

Result<store::ItemRow> RunItems::Update(const Caller& caller, store::ItemRow item,
                                        const std::string& etag,
                                        const std::function<Status(store::ItemRow*)>& change) {
  constexpr int kTries = 10;
  std::unique_lock turn(update_mutex_, std::defer_lock);
  if (etag.empty()) turn.lock();
  for (int tries = 1;; ++tries) {
    HEADWAY_RETURN_IF_ERROR(CheckEtag(etag, item));
    HEADWAY_RETURN_IF_ERROR(change(&item));
    item.updated = Now();
    const Status status = store_->UpdateItem(item, Done(caller, kind_.update, item));
    // Somebody else was faster: once more, on what that has left.
    const bool again = status.code() == Code::kAborted && etag.empty() && tries < kTries;
    if (!status.ok() && !again) return status;
    Result<store::ItemRow> found = store_->FindItem(kind_.kind, item.uid);
    if (!found.ok() || !again) return found;
    item = *std::move(found);
  }
}

Status RunItems::Remove(const Caller& caller, const store::ItemRow& item, const std::string& etag) {
  HEADWAY_RETURN_IF_ERROR(CheckEtag(etag, item));
  return store_->DeleteItem(kind_.kind, item.uid, item.version, Done(caller, kind_.remove, item));
}

Result<std::string> RunItems::ListPage(
    const WantedPage& wanted, store::ItemQuery query,
    const std::function<Status(const store::ItemRow&, const std::string&)>& add) const {
  query.filter = wanted.filter;
  query.order = wanted.order;
  query.after = wanted.after;
  query.count = wanted.count;
  const Result<store::ItemPage> page = store_->ListItems(query);
  if (!page.ok()) return page.status();
  std::map<RunUid, std::string> labels;
  for (const store::ItemRow& item : page->items) {
    auto label = labels.find(item.run_uid);
    if (label == labels.end()) {
      Result<std::string> found = LabelOf(item);
      if (!found.ok()) return found.status();
      label = labels.emplace(item.run_uid, *std::move(found)).first;
    }
    HEADWAY_RETURN_IF_ERROR(add(item, label->second));
  }
  return wanted.Token(page->next);
}

Result<std::string> ItemBytes(std::string_view noun, const google::protobuf::Message& message) {
  std::string bytes = message.SerializeAsString();
  if (bytes.size() > limits::kItemBytes) {
    return Status(Code::kInvalidArgument, std::string(noun) + " has " +
                                              std::to_string(bytes.size()) +
                                              " bytes with all that belongs to it, and may have " +
                                              std::to_string(limits::kItemBytes));
  }
  if (!CheckParts(*message.GetDescriptor(), bytes, limits::kItemParts).ok()) {
    return Status(Code::kInvalidArgument, std::string(noun) + " has more than " +
                                              std::to_string(limits::kItemParts) +
                                              " fields with all that belongs to it");
  }
  return bytes;
}

}  // namespace headway::server
