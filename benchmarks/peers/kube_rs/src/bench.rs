//! What the benchmarks ask of kube-rs: options as one line of JSON, then a round for each further line, as
//! `benchmarks/peers/_serve.py` describes it. CPU time is that of the whole process.

use std::{
    collections::HashSet,
    io::BufRead,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, anyhow, ensure};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::{
    Api, Client, Config, CustomResource, ResourceExt,
    api::{ObjectList, WatchEvent, WatchParams},
    runtime::{Controller, controller::Action, watcher},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// The custom resource of the benchmarks.
#[derive(CustomResource, Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.technosophos.com", version = "v1", kind = "Book", plural = "books", namespaced)]
#[kube(status = "BookStatus")]
#[serde(rename_all = "camelCase")]
pub struct BookSpec {
    title: String,
    #[serde(default)]
    authors: Vec<String>,
    pages: Option<u32>,
    #[serde(default)]
    sent: f64,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BookStatus {
    copies: Option<u32>,
    observed_generation: Option<i64>,
    phase: Option<String>,
}

#[derive(Deserialize)]
struct Options {
    work: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    file: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    ca: String,
    #[serde(default)]
    count: usize,
}

pub async fn run() -> Result<()> {
    let mut lines = std::io::stdin().lock().lines();
    let first = lines.next().context("no options")??;
    let options: Options = serde_json::from_str(&first)?;
    let text = if options.file.is_empty() { String::new() } else { std::fs::read_to_string(&options.file)? };
    println!("{}", json!({"ready": true}));
    for line in lines {
        line?;
        let answer = match round(&options, &text).await {
            Ok(answer) => answer,
            Err(error) => json!({"error": format!("{error:#}")}),
        };
        println!("{answer}");
    }
    Ok(())
}

async fn round(options: &Options, text: &str) -> Result<Value> {
    match (options.work.as_str(), options.kind.as_str()) {
        ("decode", "pods") => timed(|| decoded::<Pod>(text)),
        ("decode", "configmaps") => timed(|| decoded::<ConfigMap>(text)),
        ("decode", _) => timed(|| decoded::<Book>(text)),
        ("list", _) => timed(|| Ok(serde_json::from_str::<ObjectList<Pod>>(text)?.items.len())),
        ("live", "pods") => watched(Api::<Pod>::namespaced(client(options)?, "default")).await,
        ("live", _) => watched(Api::<Book>::namespaced(client(options)?, "default")).await,
        ("throughput" | "latency" | "rss", _) => controlled(options).await,
        (work, _) => Err(anyhow!("no work is called {work:?}")),
    }
}

fn decoded<K: DeserializeOwned>(text: &str) -> Result<usize> {
    let mut events = 0;
    for line in text.lines() {
        let event: WatchEvent<K> = serde_json::from_str(line)?;
        ensure!(!matches!(event, WatchEvent::Error(_)), "an error in the stream");
        events += 1;
    }
    Ok(events)
}

/// The best of three laps of a twentieth of a second or more, by CPU time, which others disturb least.
fn timed(mut work: impl FnMut() -> Result<usize>) -> Result<Value> {
    let mut runs = 1u32;
    loop {
        let begun = cpu();
        for _ in 0..runs {
            work()?;
        }
        if cpu() - begun >= 0.05 {
            break;
        }
        runs *= 2;
    }
    let (mut best, mut events, before) = (f64::MAX, 0, spent());
    for _ in 0..3 {
        let begun = cpu();
        for _ in 0..runs {
            events = work()?;
        }
        best = best.min((cpu() - begun) / f64::from(runs));
    }
    let (after, all) = (spent(), f64::from(3 * runs));
    let (user, system) = ((after.0 - before.0) / all, (after.1 - before.1) / all);
    Ok(json!({"seconds": best, "events": events, "user": user, "system": system}))
}

fn cpu() -> f64 {
    let (user, system) = spent();
    user + system
}

fn client(options: &Options) -> Result<Client> {
    let mut config = Config::new(options.url.parse()?);
    config.default_namespace = "default".into();
    if !options.ca.is_empty() {
        let found = pem::parse_many(&options.ca)?;
        config.root_cert = Some(found.into_iter().map(pem::Pem::into_contents).collect());
    }
    Ok(Client::try_from(config)?)
}

/// One watch from its request to its end, through the typed client; the best of three.
async fn watched<K>(api: Api<K>) -> Result<Value>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let (mut best, mut events, before) = (f64::MAX, 0, spent());
    for _ in 0..3 {
        let begun = Instant::now();
        let mut stream = api.watch(&WatchParams::default(), "0").await?.boxed();
        events = 0;
        while stream.try_next().await?.is_some() {
            events += 1;
        }
        best = best.min(begun.elapsed().as_secs_f64());
    }
    let after = spent();
    let (user, system) = ((after.0 - before.0) / 3.0, (after.1 - before.1) / 3.0);
    Ok(json!({"seconds": best, "events": events, "user": user, "system": system}))
}

#[derive(Default)]
struct Seen {
    names: HashSet<String>,
    waits: Vec<f64>,
    ended: f64,
}

/// A controller whose reconcile does nothing, or notes how long its event was on its way.
async fn controlled(options: &Options) -> Result<Value> {
    let before = spent();
    let seen = Arc::new(Mutex::new(Seen::default()));
    let (count, latency) = (options.count, options.work == "latency");
    let (send, mut done) = tokio::sync::mpsc::unbounded_channel();
    let context = (seen.clone(), send);
    let reconcile = move |book: Arc<Book>, context: Arc<(Arc<Mutex<Seen>>, tokio::sync::mpsc::UnboundedSender<()>)>| async move {
        let mut seen = context.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if seen.names.insert(book.name_any()) {
            if latency {
                seen.waits.push((monotonic() - book.spec.sent) * 1000.0);
            }
            if seen.names.len() == count {
                seen.ended = monotonic();
                let _ = context.1.send(());
            }
        }
        Ok::<_, kube::Error>(Action::await_change())
    };
    let running = tokio::spawn(
        Controller::new(Api::<Book>::all(client(options)?), watcher::Config::default())
            .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(1)), Arc::new(context))
            .for_each(|_| async {}),
    );
    tokio::time::timeout(Duration::from_secs(120), done.recv()).await.context("some objects were never reconciled")?;
    let rss = if options.work == "rss" {
        tokio::time::sleep(Duration::from_secs(1)).await;
        resident()?
    } else {
        0.0
    };
    running.abort();
    let after = spent();
    let found = std::mem::take(&mut *seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
    let mut seconds = 0.0;
    if options.work == "throughput" {
        let request = http::Request::get("/began").body(Vec::new())?;
        let said: Value = client(options)?.request(request).await?;
        seconds = found.ended - said["began"].as_f64().context("no beginning")?;
    }
    Ok(json!({
        "seconds": seconds, "events": found.names.len(), "waits": found.waits, "rss": rss,
        "user": after.0 - before.0, "system": after.1 - before.1,
    }))
}

/// The clock by which the server says when it sent something.
fn monotonic() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes to the value that it is given, and to nothing else.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Seconds that the process has spent, by itself and in the system.
fn spent() -> (f64, f64) {
    // SAFETY: zero is a value of every field, and getrusage writes to nothing else.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let seconds = |at: libc::timeval| at.tv_sec as f64 + at.tv_usec as f64 / 1e6;
    (seconds(usage.ru_utime), seconds(usage.ru_stime))
}

fn resident() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages: f64 = text.split_whitespace().nth(1).context("no pages")?.parse()?;
    Ok(pages * 4096.0 / 1e6)
}
