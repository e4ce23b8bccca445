//! What a program on kube-rs does with an API server: each check prints one line of JSON with its name and,
//! if it failed, why. The server is the one that KUBECONFIG names.

mod bench;

use std::{collections::BTreeMap, future::Future, sync::Arc, time::Duration};

use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, ObjectReference},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, CustomResource, CustomResourceExt, Resource, ResourceExt,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    core::PartialObjectMeta,
    discovery::Discovery,
    runtime::{
        Controller, WatchStreamExt,
        controller::Action,
        events::{Event, EventType, Recorder},
        finalizer::{Event as FinalizerEvent, finalizer},
        reflector,
        wait::{await_condition, conditions},
        watcher,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

const PATIENCE: Duration = Duration::from_secs(60);
const MANAGER: &str = "kube-rs-peer";

#[derive(CustomResource, Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[kube(group = "peers.example.com", version = "v1", kind = "Document", namespaced, status = "DocumentStatus")]
struct DocumentSpec {
    title: String,
    pages: Option<u32>,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
struct DocumentStatus {
    words: usize,
}

fn settings(name: &str, text: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.into());
    map.metadata.labels = Some(BTreeMap::from([("peer".into(), "kube-rs".into())]));
    map.data = Some(BTreeMap::from([("text".into(), text.into())]));
    map
}

async fn until<F: FnMut() -> bool>(what: &str, mut holds: F) -> Result<()> {
    let end = tokio::time::Instant::now() + PATIENCE;
    while !holds() {
        ensure!(tokio::time::Instant::now() < end, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

async fn discovery(client: Client) -> Result<()> {
    let version = client.apiserver_version().await?;
    ensure!(version.major == "1", "major version {}", version.major);
    let found = Discovery::new(client).run_aggregated().await?;
    ensure!(found.has_group("apps"), "the group apps was not discovered");
    ensure!(found.groups().any(|group| group.recommended_kind("Deployment").is_some()));
    Ok(())
}

async fn verbs(client: Client) -> Result<()> {
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let made = maps.create(&PostParams::default(), &settings("kube-rs-verbs", "1")).await?;
    let mut changed = made.clone();
    changed.data = Some(BTreeMap::from([("text".into(), "2".into())]));
    let replaced = maps.replace("kube-rs-verbs", &PostParams::default(), &changed).await?;
    ensure!(replaced.resource_version() != made.resource_version());
    match maps.replace("kube-rs-verbs", &PostParams::default(), &changed).await {
        Err(kube::Error::Api(refused)) => ensure!(refused.is_conflict(), "{refused}"),
        other => anyhow::bail!("a stale replace gave {other:?}"),
    }
    let patch = Patch::Merge(json!({"data": {"text": "3"}}));
    maps.patch("kube-rs-verbs", &PatchParams::default(), &patch).await?;
    let applied = Patch::Apply(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-rs-verbs"}, "data": {"mine": "4"}
    }));
    let after = maps.patch("kube-rs-verbs", &PatchParams::apply(MANAGER).force(), &applied).await?;
    let data = after.data.context("no data")?;
    ensure!(data["text"] == "3" && data["mine"] == "4", "{data:?}");
    let listed = maps.list(&ListParams::default().labels("peer=kube-rs").limit(1)).await?;
    ensure!(listed.items.len() == 1);
    maps.delete("kube-rs-verbs", &DeleteParams::default()).await?;
    ensure!(maps.get_opt("kube-rs-verbs").await?.is_none());
    ensure!(matches!(maps.get("kube-rs-verbs").await, Err(kube::Error::Api(refused)) if refused.is_not_found()));
    Ok(())
}

async fn reflected(client: Client, config: watcher::Config, prefix: &str) -> Result<()> {
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let names: Vec<String> = (0..3).map(|number| format!("{prefix}-{number}")).collect();
    maps.create(&PostParams::default(), &settings(&names[0], "before")).await?;
    let (store, writer) = reflector::store();
    let stream = reflector(writer, watcher(maps.clone(), config.labels("peer=kube-rs")));
    let following = tokio::spawn(stream.default_backoff().for_each(|_| async {}));
    tokio::time::timeout(PATIENCE, store.wait_until_ready()).await.context("the store was never ready")??;
    ensure!(store.state().len() == 1);
    for name in &names[1..] {
        maps.create(&PostParams::default(), &settings(name, "after")).await?;
    }
    until("three objects in the store", || store.state().len() == 3).await?;
    let patch = Patch::Merge(json!({"data": {"text": "patched"}}));
    maps.patch(&names[1], &PatchParams::default(), &patch).await?;
    let key = reflector::ObjectRef::<ConfigMap>::new(&names[1]).within("default");
    until("the patch in the store", || {
        store.get(&key).and_then(|map| map.data.clone()).is_some_and(|data| data["text"] == "patched")
    })
    .await?;
    for name in &names {
        maps.delete(name, &DeleteParams::default()).await?;
    }
    until("an empty store", || store.state().is_empty()).await?;
    following.abort();
    Ok(())
}

async fn metadata(client: Client) -> Result<()> {
    let maps: Api<PartialObjectMeta<ConfigMap>> = Api::default_namespaced(client.clone());
    let full: Api<ConfigMap> = Api::default_namespaced(client);
    full.create(&PostParams::default(), &settings("kube-rs-meta", "x")).await?;
    let mut events = watcher(maps, watcher::Config::default().labels("peer=kube-rs")).applied_objects().boxed();
    let first = tokio::time::timeout(PATIENCE, events.try_next()).await??.context("the watch ended")?;
    ensure!(first.name_any() == "kube-rs-meta");
    full.delete("kube-rs-meta", &DeleteParams::default()).await?;
    Ok(())
}

async fn definition(client: Client) -> Result<()> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = Document::crd().name_any();
    definitions.patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(Document::crd())).await?;
    let established = await_condition(definitions, &name, conditions::is_crd_established());
    tokio::time::timeout(PATIENCE, established).await.context("the definition was never established")??;
    let documents: Api<Document> = Api::default_namespaced(client);
    tokio::time::timeout(PATIENCE, async {
        while documents.list(&ListParams::default()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
    .context("documents were never served")
}

async fn refused(client: Client) -> Result<()> {
    let resource = kube::api::ApiResource::erase::<Document>(&());
    let documents: Api<DynamicObject> = Api::default_namespaced_with(client, &resource);
    let wrong = DynamicObject::new("wrong", &resource).data(json!({"spec": {"title": 7}}));
    match documents.create(&PostParams::default(), &wrong).await {
        Err(kube::Error::Api(refused)) => ensure!(refused.code == 422, "{refused}"),
        other => anyhow::bail!("a number for a title gave {other:?}"),
    }
    Ok(())
}

async fn reconcile(document: Arc<Document>, client: Arc<Client>) -> Result<Action, kube::Error> {
    let documents: Api<Document> = Api::default_namespaced((*client).clone());
    let name = document.name_any();
    let mut page = settings(&name, &document.spec.title);
    page.metadata.owner_references = document.controller_owner_ref(&()).map(|owner| vec![owner]);
    let maps: Api<ConfigMap> = Api::default_namespaced((*client).clone());
    maps.patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(page)).await?;
    let words = document.spec.title.split_whitespace().count();
    if document.status.as_ref().is_none_or(|status| status.words != words) {
        let status = Patch::Merge(json!({"status": {"words": words}}));
        documents.patch_status(&name, &PatchParams::default(), &status).await?;
    }
    Ok(Action::await_change())
}

async fn controller(client: Client) -> Result<()> {
    let documents: Api<Document> = Api::default_namespaced(client.clone());
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let running = tokio::spawn(
        Controller::new(documents.clone(), watcher::Config::default())
            .owns(maps.clone(), watcher::Config::default())
            .run(reconcile, |_, _, _| Action::requeue(Duration::from_millis(100)), Arc::new(client))
            .for_each(|_| async {}),
    );
    let spec = DocumentSpec { title: "call me Ishmael".into(), pages: None };
    documents.create(&PostParams::default(), &Document::new("moby", spec)).await?;
    let counted = await_condition(documents.clone(), "moby", |found: Option<&Document>| {
        found.and_then(|one| one.status.as_ref()).is_some_and(|status| status.words == 3)
    });
    let found = tokio::time::timeout(PATIENCE, counted).await.context("the status never came")??;
    let uid = found.and_then(|one| one.uid()).context("no uid")?;
    // What the controller owns comes back when somebody deletes it.
    maps.delete("moby", &DeleteParams::default()).await?;
    let back = await_condition(maps.clone(), "moby", |map: Option<&ConfigMap>| map.is_some());
    tokio::time::timeout(PATIENCE, back).await.context("the config map never came back")??;
    documents.delete("moby", &DeleteParams::foreground()).await?;
    tokio::time::timeout(PATIENCE, await_condition(documents, "moby", conditions::is_deleted(&uid)))
        .await
        .context("the document never went")??;
    tokio::time::timeout(PATIENCE, async {
        while maps.get_opt("moby").await?.is_some() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok::<(), kube::Error>(())
    })
    .await
    .context("the owned config map was never collected")??;
    running.abort();
    Ok(())
}

async fn finalized(client: Client) -> Result<()> {
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let made = Arc::new(maps.create(&PostParams::default(), &settings("kube-rs-final", "x")).await?);
    let step = |map: Arc<ConfigMap>| {
        finalizer(&maps, "peers.example.com/hold", map, |event| async move {
            Ok::<_, kube::Error>(match event {
                FinalizerEvent::Apply(_) => Action::await_change(),
                FinalizerEvent::Cleanup(_) => Action::requeue(Duration::from_secs(1)),
            })
        })
    };
    step(made).await?;
    maps.delete("kube-rs-final", &DeleteParams::default()).await?;
    let going = maps.get("kube-rs-final").await?;
    ensure!(going.metadata.deletion_timestamp.is_some());
    step(Arc::new(going)).await?;
    ensure!(maps.get_opt("kube-rs-final").await?.is_none());
    Ok(())
}

async fn events(client: Client) -> Result<()> {
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let made = maps.create(&PostParams::default(), &settings("kube-rs-event", "x")).await?;
    let about: ObjectReference = made.object_ref(&());
    let event = Event {
        type_: EventType::Normal,
        reason: "Read".into(),
        note: Some("somebody has read it".into()),
        action: "Reading".into(),
        secondary: None,
    };
    let recorder = Recorder::new(client, MANAGER.into());
    recorder.publish(&event, &about).await?;
    recorder.publish(&event, &about).await?; // the second one makes a series of the first
    maps.delete("kube-rs-event", &DeleteParams::default()).await?;
    Ok(())
}

async fn scale(client: Client) -> Result<()> {
    let deployments: Api<Deployment> = Api::default_namespaced(client);
    let made: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "kube-rs-web"},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        }
    }))?;
    deployments.create(&PostParams::default(), &made).await?;
    let patch = Patch::Merge(json!({"spec": {"replicas": 2}}));
    deployments.patch_scale("kube-rs-web", &PatchParams::default(), &patch).await?;
    ensure!(deployments.get_scale("kube-rs-web").await?.spec.and_then(|spec| spec.replicas) == Some(2));
    deployments.delete("kube-rs-web", &DeleteParams::background()).await?;
    Ok(())
}

async fn check(name: &str, work: impl Future<Output = Result<()>>) {
    let error = match tokio::time::timeout(2 * PATIENCE, work).await {
        Ok(Ok(())) => String::new(),
        Ok(Err(error)) => format!("{error:#}"),
        Err(_) => "it did not end".into(),
    };
    println!("{}", json!({"check": name, "error": error}));
}

#[tokio::main]
async fn main() -> Result<()> {
    if std::env::args().nth(1).as_deref() == Some("bench") {
        return bench::run().await;
    }
    let client = Client::try_default().await?;
    let next = || client.clone();
    check("discovery", discovery(next())).await;
    check("verbs", verbs(next())).await;
    check("reflector", reflected(next(), watcher::Config::default(), "kube-rs-listed")).await;
    check("reflector-streaming", reflected(next(), watcher::Config::default().streaming_lists(), "kube-rs-streamed"))
        .await;
    check("reflector-pages", reflected(next(), watcher::Config::default().page_size(1), "kube-rs-paged")).await;
    check("metadata", metadata(next())).await;
    check("definition", definition(next())).await;
    check("refused", refused(next())).await;
    check("controller", controller(next())).await;
    check("finalizer", finalized(next())).await;
    check("events", events(next())).await;
    check("scale", scale(next())).await;
    Ok(())
}
