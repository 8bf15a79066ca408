use super::*;

fn graphml(body: &str) -> Result<Graph, String> {
    let text = format!(
        "<?xml version=\"1.0\"?><graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n\
         <key attr.name=\"label\" attr.type=\"string\" for=\"node\" id=\"a\"/>\n\
         <key attr.name=\"Latitude\" attr.type=\"double\" for=\"node\" id=\"b\"/>\n\
         <key attr.name=\"Longitude\" attr.type=\"double\" for=\"node\" id=\"c\"/>\n\
         <key attr.name=\"LinkSpeedRaw\" attr.type=\"double\" for=\"edge\" id=\"d\"/>\n\
         <graph edgedefault=\"undirected\">\n{body}</graph></graphml>"
    );
    graphml::parse(&text).and_then(graph)
}

fn gml(body: &str) -> Result<Graph, String> {
    gml::parse(&format!("# a graph\ngraph [ directed 0\n{body}]")).and_then(graph)
}

#[test]
fn both_formats_are_the_same_graph() {
    let one = graphml(
        "<node id=\"0\"><data key=\"a\">New York</data><data key=\"b\">40.71</data><data key=\"c\">-74.0</data></node>\n\
         <node id=\"1\"><data key=\"a\">S\u{e3}o &amp; Paulo</data></node><node id=\"2\"/>\n\
         <edge source=\"0\" target=\"1\"><data key=\"d\">2500000000.0</data></edge>\n\
         <edge source=\"1\" target=\"2\"><data key=\"d\">0</data></edge><edge source=\"2\" target=\"2\"/>",
    );
    let other = gml("node [ id 0 label \"New York\" Latitude 40.71 Longitude -74.0 graphics [ x 1 ] ]\n\
         node [ id 1 label \"S\u{e3}o &amp; Paulo\" ] node [ id 2 ]\n\
         edge [ source 0 target 1 LinkSpeedRaw 2.5e9 ] edge [ source 1 target 2 ] edge [ source 2 target 2 ]");
    let graph = one.unwrap();
    assert_eq!(graph, other.unwrap());
    let names: Vec<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["New-York", "S-o-Paulo", "n2"]);
    let speeds: Vec<_> = graph.edges.iter().map(|edge| (edge.from, edge.to, edge.speed)).collect();
    assert_eq!(speeds, [(0, 1, Some(2_500_000_000)), (1, 2, None)]);
}

#[test]
fn names_are_unique() {
    let graph = gml(
        "node [ id 1 label \"a\" ] node [ id 2 label \"a-2\" ] node [ id 3 label \"a\" ] node [ id 4 label \"None\" ]",
    );
    let names: Vec<String> = graph.unwrap().nodes.into_iter().map(|node| node.name).collect();
    assert_eq!(names, ["a", "a-2", "a-3", "n4"]);
}

/// A quarter of a great circle of 40,030 km, and a degree of the equator.
#[test]
fn delays_are_those_of_great_circles() {
    let node = |latitude, longitude| GraphNode { name: String::new(), place: Some((latitude, longitude)) };
    let microseconds = |from: &GraphNode, to: &GraphNode| from.delay_to(to).unwrap().as_secs_f64() * 1e6;
    let equator = node(0.0, 0.0);
    let quarter = 5.0 * std::f64::consts::FRAC_PI_2 * 6371.0088;
    for far in [node(90.0, 0.0), node(-90.0, 12.0), node(0.0, 90.0), node(0.0, -90.0)] {
        assert!((microseconds(&equator, &far) - quarter).abs() < 0.01);
    }
    assert!((microseconds(&equator, &node(0.0, 1.0)) - quarter / 90.0).abs() < 0.01);
    assert!((microseconds(&node(0.0, 179.5), &node(0.0, -179.5)) - quarter / 90.0).abs() < 0.01);
    assert!((microseconds(&equator, &node(0.0, 180.0)) - 2.0 * quarter).abs() < 0.01);
    assert_eq!(equator.delay_to(&GraphNode { name: String::new(), place: None }), None);
}

#[test]
fn mistakes_are_told() {
    for (body, said) in [
        ("", "it has no node"),
        ("<node/>", "line 7: `node` has no `id`"),
        ("<node id=\"1\"/><node id=\"1\"/>", "two nodes have the id `1`"),
        ("<node id=\"1\"/><edge source=\"1\" target=\"7\"/>", "an edge ends at no node: `7`"),
        ("<node id=\"1\"/><edge source=\"1\"/>", "line 7: `edge` has no `target`"),
        (
            "<node id=\"1\"><data key=\"b\">91</data></node>",
            "`Latitude` of n1 is not a number of degrees up to 90: `91`",
        ),
        (
            "<node id=\"1\"/><node id=\"2\"/><edge source=\"1\" target=\"2\"><data key=\"d\">-1</data></edge>",
            "the edge from n1 to n2: `LinkSpeedRaw` is not a rate in bit/s: `-1`",
        ),
        ("<node id=\"1\">", "expected 'node' tag, not 'graph' at 7:14"),
    ] {
        assert_eq!(graphml(body).unwrap_err(), said, "{body}");
    }
    for (body, said) in [
        ("node [ label \"a\" ]", "a node has no `id`"),
        ("node [ id 1", "it ends within a list"),
        ("node [ id ]", "line 3: `id` has no value"),
        ("node [ id \"1 ]", "line 3: a text has no end"),
        ("\"node\" [ ]", "line 3: expected a key"),
    ] {
        assert_eq!(gml(body).unwrap_err(), said, "{body}");
    }
    let deep = "a [ ".repeat(100);
    assert_eq!(gml(&deep).unwrap_err(), "line 3: lists are nested more than 64 deep");
    assert_eq!(gml::parse("").and_then(graph).unwrap_err(), "it has no graph");
    let other = graphml::parse("<svg/>").and_then(graph).unwrap_err();
    assert_eq!(other, "its root is `svg`, not `graphml`");
}
