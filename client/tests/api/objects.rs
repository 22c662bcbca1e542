//! The objects that the server holds, and what the verbs do to them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The status that ends a watch whose version is too old.
pub(crate) const GONE: (u16, &str, &str) = (410, "Expired", "too old resource version: 1 (2)");

/// A failure as the API server states it.
pub(crate) fn status((code, reason, message): (u16, &str, &str)) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message})
}

/// A change, as a watch reports it.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) version: u64,
    pub(crate) kind: &'static str,
    pub(crate) resource: String,
    pub(crate) object: Value,
}

/// What there is, by resource and name.
#[derive(Default)]
pub(crate) struct Objects {
    pub(crate) all: BTreeMap<(String, String), Value>,
    pub(crate) history: Vec<Change>,
    version: u64,
    uids: u64,
}

impl Objects {
    pub(crate) fn get(&self, resource: &str, name: &str) -> Result<Value, Value> {
        let key = (resource.to_owned(), name.to_owned());
        let missing = format!("{resource} {name:?} not found");
        self.all.get(&key).cloned().ok_or_else(|| status((404, "NotFound", &missing)))
    }

    pub(crate) fn list(&self, resource: &str, namespace: &str, labels: &str) -> Value {
        let wanted: Vec<_> = labels.split(',').filter_map(|pair| pair.split_once('=')).collect();
        // An object without one is wherever it is looked for.
        let elsewhere = |place: &str| !namespace.is_empty() && place != namespace;
        let here = |object: &Value| !object["metadata"]["namespace"].as_str().is_some_and(elsewhere);
        let items: Vec<_> = self
            .all
            .iter()
            .filter(|((kind, _), _)| kind == resource)
            .map(|(_, object)| object.clone())
            .filter(here)
            .filter(|object| wanted.iter().all(|(key, value)| object["metadata"]["labels"][key] == *value))
            .collect();
        json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": self.version.to_string()}, "items": items})
    }

    pub(crate) fn create(&mut self, resource: &str, mut object: Value, dry_run: bool) -> Result<Value, Value> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if self.get(resource, &name).is_ok() {
            return Err(status((409, "AlreadyExists", &format!("{resource} {name:?} already exists"))));
        }
        self.uids += 1;
        object["metadata"]["uid"] = json!(format!("uid-{}", self.uids));
        object["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        if object["spec"]["type"] == "NodePort" && object["spec"]["ports"][0]["nodePort"].is_null() {
            object["spec"]["ports"][0]["nodePort"] = json!(31_234);
        }
        Ok(if dry_run { object } else { self.put("ADDED", resource, &name, object) })
    }

    pub(crate) fn patch(&mut self, resource: &str, name: &str, patch: &Value) -> Result<Value, Value> {
        let mut object = self.get(resource, name)?;
        let (wanted, found) = (&patch["metadata"]["uid"], &object["metadata"]["uid"]);
        if !wanted.is_null() && wanted != found {
            return Err(status((409, "Conflict", "the UID in the precondition does not match")));
        }
        merge(&mut object, patch);
        Ok(self.put("MODIFIED", resource, name, object))
    }

    /// Deletes, and with it whatever the object owns.
    pub(crate) fn delete(&mut self, resource: &str, name: &str, options: &Value) -> Result<Value, Value> {
        let object = self.get(resource, name)?;
        let (wanted, found) = (&options["preconditions"]["uid"], &object["metadata"]["uid"]);
        if !wanted.is_null() && wanted != found {
            return Err(status((409, "Conflict", "the UID in the precondition does not match")));
        }
        self.remove(resource, name);
        let owned = |object: &Value| object["metadata"]["ownerReferences"][0]["uid"] == *found;
        let dependents: Vec<_> =
            self.all.iter().filter(|(_, object)| owned(object)).map(|(key, _)| key.clone()).collect();
        for (resource, name) in dependents {
            self.remove(&resource, &name);
        }
        Ok(json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}))
    }

    pub(crate) fn put(&mut self, kind: &'static str, resource: &str, name: &str, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.all.insert((resource.to_owned(), name.to_owned()), object.clone());
        self.record(kind, resource, object.clone());
        object
    }

    fn remove(&mut self, resource: &str, name: &str) {
        if let Some(mut object) = self.all.remove(&(resource.to_owned(), name.to_owned())) {
            self.version += 1;
            object["metadata"]["resourceVersion"] = json!(self.version.to_string());
            self.record("DELETED", resource, object);
        }
    }

    fn record(&mut self, kind: &'static str, resource: &str, object: Value) {
        let (version, resource) = (self.version, resource.to_owned());
        self.history.push(Change { version, kind, resource, object });
    }
}

/// RFC 7386.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in fields {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut target[key], value);
        }
    }
}
