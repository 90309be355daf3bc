"""What the cloud service answers when it is asked and nothing changes."""

from cloud import Cloud
from cloud_views import Json, chunk_rows, memory_row, page_of


def get(cloud: Cloud, namespace: str, name: str, include: list[str] | None) -> Json:
    document = cloud.find(namespace, name)
    status = cloud.status(document)
    answer = cloud.view.whole(document, status)
    if "chunks" in (include or []):
        answer["chunks"] = chunk_rows(document) if status == "done" else []
    if "memories" in (include or []):
        has = document.has_memory and status == "done"
        answer["memories"] = [memory_row(document)] if has else []
    return answer


def search(cloud: Cloud, namespace: str, sent: Json) -> Json:
    return {"results": cloud.view.hits(cloud.done(namespace), sent), "searchTime": 1}


def list_rows(cloud: Cloud, namespace: str, asked: Json, sent: Json) -> Json:
    """One page of documents, chunks or memories."""
    view, include = cloud.view, sent.get("include", {})
    kind, backwards = asked["type"], asked["order"] == "desc"
    documents = list(cloud.space(namespace).values())
    documents = [d for d in documents if view.matches(sent.get("filter"), d.metadata)]
    time = "updated_at" if asked["sort"] == "updatedAt" else "created_at"
    documents.sort(key=lambda d: (getattr(d, time), d.accepted), reverse=backwards)
    done = [document for document in documents if cloud.status(document) == "done"]
    rows: list[Json]
    if kind == "documents":
        rows = [view.row(document, cloud.status(document), include) for document in documents]
    elif kind == "memories":
        forgotten = include.get("forgotten", False)
        rows = [memory_row(d) for d in done if d.has_memory and (forgotten or not d.forgotten)]
    else:
        rows = [row for document in done for row in view.chunk_rows(document)]
        if asked["sort"] == "position":
            rows.sort(key=lambda row: row["position"], reverse=backwards)
    shown, pagination = page_of(rows, asked["page"], asked["limit"])
    return {"documents": [], "chunks": [], "memories": [], kind: shown, "pagination": pagination}


def profile(cloud: Cloud, namespace: str, sent: Json) -> Json:
    """One fact for each document that went through the pipeline `memory`."""
    facts = [
        {"id": document.memory_id, "memory": document.content}
        for document in cloud.done(namespace)
        if document.has_memory and not document.forgotten
        if cloud.view.matches(sent.get("filter"), document.metadata)
    ]
    buckets: Json = {name: [] for name in sent.get("buckets", [])}
    return {"profile": {"static": [], "dynamic": facts, "buckets": buckets}}


def list_namespaces(cloud: Cloud, asked: Json) -> Json:
    rows: list[Json] = []
    for name in cloud.namespaces():
        documents = cloud.space(name).values()
        if (asked["q"] or "") not in name:
            continue
        opened = cloud.opened[name].isoformat()
        rows.append(
            {
                "id": f"ns_{name}",
                "namespace": name,
                "documentCount": len(documents),
                "memoryCount": sum(d.has_memory for d in documents),
                "description": None,
                "system": {"createdAt": opened, "updatedAt": opened},
            }
        )
    shown, pagination = page_of(rows, asked["page"], asked["limit"])
    return {"namespaces": shown, "pagination": pagination}
