//! Node lists as clusters have them: dual stack, cordoned, without external addresses.

use super::*;
use serde_json::{Value, json};

fn node(name: &str, addresses: &[(&str, &str)], ready: &str, cordoned: bool) -> Node {
    let addresses: Vec<Value> =
        addresses.iter().map(|(kind, address)| json!({"type": kind, "address": address})).collect();
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {"unschedulable": cordoned},
        "status": {"addresses": addresses, "conditions": [{"type": "Ready", "status": ready}]},
    }))
    .unwrap()
}

fn pod_on(node: &str, host_ip: &str) -> Pod {
    serde_json::from_value(
        json!({"metadata": {}, "spec": {"nodeName": node, "containers": []}, "status": {"hostIP": host_ip}}),
    )
    .unwrap()
}

async fn dial_list(hosts: &[Host]) -> Vec<String> {
    let (progress, _) = Progress::recording();
    resolve(hosts, 31_234, &progress).await.iter().map(|candidate| candidate.address.to_string()).collect()
}

#[tokio::test]
async fn r05_the_pods_node_first_then_ready_and_schedulable_ones() {
    let nodes = [
        node("control", &[("InternalIP", "10.0.0.1")], "True", true),
        node("down", &[("InternalIP", "10.0.0.2")], "False", false),
        node("a", &[("InternalIP", "10.0.0.3"), ("ExternalIP", "192.0.2.3")], "True", false),
        node("own", &[("InternalIP", "10.0.0.4"), ("ExternalIP", "192.0.2.4")], "True", true),
    ];
    let hosts = node_hosts(&pod_on("own", "10.0.0.4"), &nodes, TrafficPolicy::Cluster);
    let expected = ["10.0.0.4:31234", "192.0.2.4:31234", "192.0.2.3:31234", "10.0.0.3:31234"];
    assert_eq!(dial_list(&hosts).await, expected);
    assert_eq!(hosts[1].origin, "own ExternalIP");
    let local = node_hosts(&pod_on("own", "10.0.0.4"), &nodes, TrafficPolicy::Local);
    assert_eq!(dial_list(&local).await, ["10.0.0.4:31234", "192.0.2.4:31234"]);
}

#[tokio::test]
async fn r03_addresses_are_compared_as_addresses_and_printed_with_brackets() {
    let nodes = [
        node("a", &[("InternalIP", "fd00:10::5"), ("InternalIP", "2001:DB8:0:0::BEEF")], "True", false),
        node("b", &[("InternalIP", "2001:db8::beef")], "True", false),
    ];
    let hosts = node_hosts(&pod_on("a", "fd00:10:0::5"), &nodes, TrafficPolicy::Cluster);
    assert_eq!(dial_list(&hosts).await, ["[fd00:10::5]:31234", "[2001:db8::beef]:31234"]);
}

#[tokio::test]
async fn r03_given_addresses_in_every_form() {
    let table = [
        ("192.0.2.1", "192.0.2.1:31234"),
        ("192.0.2.1:443", "192.0.2.1:443"),
        ("fd00::1", "[fd00::1]:31234"),
        ("[fd00::1]", "[fd00::1]:31234"),
        ("[fd00::1]:443", "[fd00::1]:443"),
    ];
    for (text, expected) in table {
        assert_eq!(dial_list(&[Host::given(text)]).await, [expected], "{text}");
    }
    let named = Host::given("gateway.example:443");
    assert_eq!((named.text.as_str(), named.port), ("gateway.example", Some(443)));
}

#[test]
fn the_node_port_is_read_from_the_answer() {
    let door = |ports: Value| -> Service {
        serde_json::from_value(json!({"metadata": {"name": "d"}, "spec": {"ports": ports}})).unwrap()
    };
    assert_eq!(node_port(&door(json!([{"port": 7077, "nodePort": 31234}]))).unwrap(), 31_234);
    assert_eq!(node_port(&door(json!([{"port": 7077}]))).unwrap_err().code(), ErrorCode::PortsExhausted);
}
