//! Two answers in one form, without what is random in one of them, and the paths at which they differ.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::differences::Side;

/// The answer `{pod, objects, properties}` with objects by kind and name, and lists by name instead of by place.
fn normal(answer: &Value) -> Value {
    let answer = with_settled_claims(answer);
    let mut all = json!({"pod": normal_pod(&answer["pod"]), "properties": answer["properties"]});
    for object in answer["objects"].as_array().unwrap() {
        let (kind, name) = (object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap());
        assert!(all[kind][name].is_null(), "two of one name: {kind} {name}");
        let mut object = object.clone();
        if kind == "Service" {
            object["spec"]["ports"] = by_name(&object["spec"]["ports"]);
        }
        all[kind][name] = object;
    }
    without_empty(all).unwrap_or_default()
}

/// Theirs are numbered in the order of a hash table: each one is called by its volume.
fn with_settled_claims(answer: &Value) -> Value {
    let mut text = answer.to_string();
    for volume in answer["pod"]["spec"]["volumes"].as_array().unwrap() {
        if let Some(claim) = volume["persistentVolumeClaim"]["claimName"].as_str().filter(|it| it.contains("-pvc-")) {
            let (before, _) = claim.split_once("PREFIX").unwrap();
            let settled = format!("{before}PREFIX-driver-pvc of {}", volume["name"].as_str().unwrap());
            text = text.replace(&format!("\"{claim}\""), &format!("\"{settled}\""));
        }
    }
    serde_json::from_str(&text).unwrap()
}

/// Scratch space without what is random in theirs: the id in its path, and which of several folders is the first one.
fn settle_scratch(container: &mut Value) {
    for mount in container["volumeMounts"].as_array_mut().unwrap() {
        let number = mount["name"].as_str().unwrap().strip_prefix("spark-local-dir-");
        let is_numbered = number.is_some_and(|number| number.parse::<u32>().is_ok());
        let path = without_id(mount["mountPath"].as_str().unwrap());
        if is_numbered {
            mount["name"] = json!(format!("scratch at {}", path.replace('/', "|")));
        }
        mount["mountPath"] = json!(path);
    }
    for variable in container["env"].as_array_mut().unwrap() {
        if variable["name"] == "SPARK_LOCAL_DIRS" {
            let mut paths: Vec<_> = variable["value"].as_str().unwrap().split(',').map(without_id).collect();
            paths.sort();
            variable["value"] = json!(paths.join(","));
        }
    }
}

fn without_id(path: &str) -> String {
    let id =
        path.strip_prefix("/var/data/spark-").filter(|id| id.len() == "00000000-0000-0000-0000-000000000000".len());
    id.map_or(path.to_owned(), |_| "/var/data/spark-ID".to_owned())
}

fn normal_pod(pod: &Value) -> Value {
    let mut spec = pod["spec"].clone();
    let containers = spec["containers"].as_array().unwrap().clone();
    let (container, others) = containers.split_last().unwrap();
    let mut container = container.clone();
    settle_scratch(&mut container);
    for list in ["env", "ports", "volumeMounts"] {
        container[list] = by_name(&container[list]);
    }
    for volume in spec["volumes"].as_array_mut().unwrap() {
        if volume["configMap"]["items"].is_array() {
            volume["configMap"]["items"] = by(&volume["configMap"]["items"], "key");
        }
    }
    for list in ["volumes", "initContainers"] {
        spec[list] = by_name(&spec[list]);
    }
    spec.as_object_mut().unwrap().remove("containers");
    let mut all = spec;
    all["container"] = container;
    all["others"] = json!(others);
    all["metadata"] = pod["metadata"].clone();
    all
}

fn by_name(list: &Value) -> Value {
    by(list, "name")
}

fn by(list: &Value, field: &str) -> Value {
    let items = list.as_array().into_iter().flatten();
    let pairs: Vec<_> = items.map(|item| (item[field].as_str().unwrap().to_owned(), item.clone())).collect();
    let map: BTreeMap<_, _> = pairs.iter().cloned().collect();
    assert_eq!(map.len(), pairs.len(), "two of one name: {list}");
    json!(map)
}

/// An absent field, an empty list and an empty text are the same to the API server where the two builders differ in them.
fn without_empty(value: Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        // An empty volume source still says of which kind it is.
        Value::Object(map) => {
            let kept = |(key, value): (String, Value)| {
                let is_source = key == "emptyDir";
                without_empty(value).or_else(|| is_source.then(|| json!({}))).map(|value| (key, value))
            };
            let map: serde_json::Map<_, _> = map.into_iter().filter_map(kept).collect();
            (!map.is_empty()).then_some(Value::Object(map))
        }
        Value::Array(items) => {
            let items: Vec<_> = items.into_iter().filter_map(without_empty).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        other => Some(other),
    }
}

/// Every leaf with its path; `/` in a key is written `|`.
fn leaves(value: &Value, path: &str, found: &mut BTreeMap<String, String>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}/{key}") };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| leaves(value, &below(&key.replace('/', "|")), found)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| leaves(value, &below(&index.to_string()), found));
        }
        other => {
            found.insert(path.to_owned(), other.to_string());
        }
    }
}

/// A path at which two answers differ, with both values.
pub(crate) struct Difference {
    pub(crate) path: String,
    pub(crate) ours: Option<String>,
    pub(crate) theirs: Option<String>,
}

impl Difference {
    /// Whether `line`, with `*` for any one step, is about this path or what it begins with, and about that side.
    pub(crate) fn is_explained_by(&self, line: &str, side: Side) -> bool {
        let mut steps = self.path.split('/');
        let is_there = line.split('/').all(|wanted| steps.next().is_some_and(|step| wanted == "*" || wanted == step));
        let is_on_side = match side {
            Side::Ours => self.theirs.is_none(),
            Side::Theirs => self.ours.is_none(),
            Side::Either => true,
        };
        is_there && is_on_side
    }
}

/// Where the two differ.
pub(crate) fn differences(ours: &Value, theirs: &Value) -> Vec<Difference> {
    let (mut a, mut b) = (BTreeMap::new(), BTreeMap::new());
    leaves(&normal(ours), "", &mut a);
    leaves(&normal(theirs), "", &mut b);
    let paths: BTreeSet<_> = a.keys().chain(b.keys()).cloned().collect();
    let both = paths.into_iter().map(|path| Difference { ours: a.remove(&path), theirs: b.remove(&path), path });
    both.filter(|difference| difference.ours != difference.theirs).collect()
}
