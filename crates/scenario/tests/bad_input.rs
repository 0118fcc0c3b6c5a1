//! Each possible error of a scenario gives one clear message, with its position and a hint.

use std::path::Path;

use dataplane::config::BaseRtt;
use scenario::{Changes, Code, Problem, Scenario};

/// A valid scenario. Line numbers in the tests count from its first line.
const GOOD: &str = r#"name = "good"

[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
link = { rate = "100Gbps", delay = "1us" }

[switch]
buffer = "12MB"

[[traffic]]
name = "background"
pattern = "uniform"
sizes = "google-allrpc@bfc"
arrivals = { kind = "lognormal", sigma = 2.0 }
load = { fraction = 0.55, of = "core" }
window = ["0us", "5ms"]

[[traffic]]
name = "incast"
pattern = "incast"
degree = 4
total = "2MB"
every = "500us"
window = ["0us", "5ms"]

[scheme]
preset = "bfc"
queues = 32
"#;

const LINKS: &str = r#"name = "links"
[topology]
kind = "links"
hosts = ["a", "b", "c"]
switches = ["s", "t"]
links = [
    { a = "a", b = "s", rate = "100Gbps", delay = "1us" },
    { a = "b", b = "s", rate = "100Gbps", delay = "1us" },
    { a = "c", b = "t", rate = "100Gbps", delay = "1us" },
    { a = "s", b = "t", rate = "100Gbps", delay = "1us" },
]
[[traffic]]
name = "two"
pattern = "list"
flows = [
    { src = "a", dst = "c", bytes = "1MB" },
    { src = 1, dst = 2, bytes = "1MB", start = "2us" },
]
"#;

fn load_in(text: &str, base: &Path, set: &[&str]) -> Result<Scenario, Vec<Problem>> {
    let set = set.iter().map(|s| (*s).to_owned()).collect();
    let changes = Changes {
        set,
        ..Changes::default()
    };
    Scenario::parse(text, "test.toml", base, &changes).map_err(|e| e.problems)
}

fn load(text: &str) -> Result<Scenario, Vec<Problem>> {
    load_in(text, Path::new("."), &[])
}

/// Returns `text` with `from` replaced by `to`. `from` must occur exactly once.
fn changed(text: &str, from: &str, to: &str) -> String {
    assert_eq!(
        text.matches(from).count(),
        1,
        "`{from}` must stand in the text once"
    );
    text.replace(from, to)
}

/// Returns the problem of a text that has exactly one.
#[track_caller]
fn only(text: &str) -> Problem {
    let problems = load(text).expect_err("this must be refused");
    let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems.len(),
        1,
        "one error was expected:\n{}",
        shown.join("\n\n")
    );
    problems.into_iter().next().unwrap()
}

/// Checks that a text has exactly one problem, and checks its position, message and hint.
#[track_caller]
fn refused(text: &str, line: usize, column: usize, message: &str, hint: &str) {
    let problem = only(text);
    assert_eq!(
        (problem.line(), problem.column()),
        (Some(line), Some(column)),
        "{problem}"
    );
    assert!(
        problem.message.contains(message),
        "{problem}\nlacks {message:?}"
    );
    let given = problem.hint.clone().unwrap_or_default();
    assert!(given.contains(hint), "{problem}\nlacks the hint {hint:?}");
}

#[test]
fn the_good_ones_are_good() {
    for text in [GOOD, LINKS] {
        let scenario = load(text).unwrap_or_else(|p| panic!("{}", p[0]));
        assert_eq!(scenario.warnings, []);
    }
}

/// A wrong pattern or kind does not hide an error in a key that all patterns or kinds share.
#[test]
fn a_wrong_pattern_or_kind_hides_no_other_mistake() {
    let keys = |from: &str, to: &str| {
        let problems = load(&changed(GOOD, from, to)).expect_err("this must be refused");
        let mut keys: Vec<_> = problems.into_iter().map(|problem| problem.key).collect();
        keys.sort_unstable();
        keys
    };
    assert_eq!(
        keys(
            "pattern = \"uniform\"",
            "pattern = \"unifrom\"\nclass = 99\nsites = 2\nsise = 1"
        ),
        ["traffic.0.class", "traffic.0.pattern", "traffic.0.sise"]
    );
    assert_eq!(
        keys(
            "kind = \"leaf-spine\"",
            "kind = \"leaf-spin\"\nhosts = 2\nspins = 2"
        ),
        ["topology.kind", "topology.spins"]
    );
}

#[test]
fn unknown_key() {
    let text = changed(GOOD, "buffer = \"12MB\"", "bufer = \"12MB\"");
    refused(
        &text,
        11,
        1,
        "unknown key `bufer` in [switch]",
        "did you mean `buffer`?",
    );
    let text = changed(GOOD, "[switch]", "[swich]");
    refused(
        &text,
        10,
        2,
        "unknown key `swich`",
        "did you mean `switch`?",
    );
    let text = changed(GOOD, "queues = 32", "quues = 32");
    refused(
        &text,
        31,
        1,
        "unknown key `quues` in [scheme]",
        "did you mean `queues`?",
    );
    let text = changed(GOOD, "sigma = 2.0", "sigma = 2.0, tail = 3");
    refused(&text, 17, 47, "unknown key `tail`", "known here: ");
}

#[test]
fn the_excerpt_points_at_the_word() {
    let text = changed(GOOD, "buffer = \"12MB\"", "bufer = \"12MB\"");
    let shown = only(&text).to_string();
    let expected = "error: unknown key `bufer` in [switch]\n  --> test.toml:11:1\n   |\n11 | bufer = \"12MB\"\n   \
                    | ^^^^^\n   = did you mean `buffer`?";
    assert_eq!(shown, expected);
}

#[test]
fn wrong_unit() {
    let text = changed(GOOD, "\"12MB\"", "\"12us\"");
    refused(
        &text,
        11,
        10,
        "`us` is not a unit of size but of time",
        "such as \"12MB\"",
    );
    let text = changed(GOOD, "\"12MB\"", "12000000");
    refused(&text, 11, 10, "a size needs a unit", "such as \"12MB\"");
    let text = changed(GOOD, "rate = \"100Gbps\"", "rate = \"100gbps\"");
    refused(&text, 8, 17, "did you mean `Gbps`?", "such as \"100Gbps\"");
    let text = changed(GOOD, "every = \"500us\"", "every = 500");
    refused(&text, 26, 9, "a time needs a unit", "such as \"1us\"");
}

#[test]
fn wrong_type() {
    let text = changed(GOOD, "leaves = 2", "leaves = \"two\"");
    refused(
        &text,
        5,
        10,
        "expected a whole number from 1 to 65535, found a string",
        "whole number",
    );
    let text = changed(GOOD, "name = \"good\"", "name = 7");
    refused(&text, 1, 8, "expected a string, found an integer", "quotes");
    let text = changed(GOOD, "leaves = 2", "leaves = 2.5");
    refused(&text, 5, 10, "2.5 is not a whole number", "1 to 65535");
    let text = changed(
        GOOD,
        "load = { fraction = 0.55, of = \"core\" }",
        "load = 0.55",
    );
    refused(
        &text,
        18,
        8,
        "`load` is a number, not a table",
        "write load = { fraction = 0.55, of = \"core\" }",
    );
    let text = changed(GOOD, "{ kind = \"lognormal\", sigma = 2.0 }", "\"poisson\"");
    let hint = "write arrivals = { kind = \"poisson\" }";
    refused(&text, 17, 12, "`arrivals` is a string, not a table", hint);
}

#[test]
fn missing_key() {
    let text = changed(GOOD, "spines = 2\n", "");
    refused(&text, 3, 1, "[topology] needs `spines`", "spines = 8");
    let text = changed(GOOD, "load = { fraction = 0.55, of = \"core\" }\n", "");
    refused(&text, 13, 1, "[traffic.0] needs `load`", "every = \"10us\"");
    let text = changed(GOOD, "total = \"2MB\"\n", "");
    refused(
        &text,
        21,
        1,
        "does not give the sizes of its flows",
        "total = \"20MB\"",
    );
}

#[test]
fn load_above_one() {
    let text = changed(GOOD, "fraction = 0.55", "fraction = 1.2");
    refused(&text, 18, 21, "1.2 is out of range", "0.55 or \"55%\"");
    let text = changed(GOOD, "fraction = 0.55", "fraction = \"120%\"");
    refused(&text, 18, 21, "1.2 is out of range", "0.55 or \"55%\"");
    let text = changed(GOOD, "fraction = 0.55", "fraction = 0");
    refused(&text, 18, 21, "a load of 0 sends nothing", "above 0");
    let text = changed(GOOD, "fraction = 0.55", "fraction = nan");
    refused(&text, 18, 21, "out of range", "0.55");
}

#[test]
fn unreachable_host() {
    let text = changed(
        LINKS,
        "    { a = \"s\", b = \"t\", rate = \"100Gbps\", delay = \"1us\" },\n",
        "",
    );
    refused(&text, 6, 9, "no path leads from host a to c", "add links");
    let text = changed(
        LINKS,
        "hosts = [\"a\", \"b\", \"c\"]",
        "hosts = [\"a\", \"b\", \"c\", \"d\"]",
    );
    refused(&text, 6, 9, "no path leads from host a to d", "add links");
    let text = changed(LINKS, "a = \"c\", b = \"t\"", "a = \"cc\", b = \"t\"");
    refused(
        &text,
        9,
        11,
        "there is no node \"cc\"",
        "did you mean \"c\"?",
    );
}

#[test]
fn missing_and_damaged_files() {
    let folder = std::env::temp_dir().join(format!("backwater-files-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let with = |sizes: &str| {
        changed(
            GOOD,
            "sizes = \"google-allrpc@bfc\"",
            &format!("sizes = {sizes}"),
        )
    };
    let refused = |text: &str, content: Option<&[u8]>, message: &str| {
        if let Some(content) = content {
            std::fs::write(folder.join("my.dist"), content).unwrap();
        }
        let problems = load_in(text, &folder, &[]).expect_err("this must be refused");
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(
            (problems[0].line(), problems[0].column()),
            (Some(16), Some(18)),
            "{}",
            problems[0]
        );
        assert!(
            problems[0].message.contains(message),
            "{}\nlacks {message:?}",
            problems[0]
        );
        assert!(problems[0].hint.is_some());
    };
    let text = with("{ file = \"my.dist\" }");
    let header = "name = x\norigin = me\nunit = bytes\ninterpolation = linear\n";
    let file = |points: &str| format!("{header}{points}").into_bytes();
    refused(&text, None, "cannot read");
    refused(&text, Some(b""), "my.dist");
    refused(&text, Some(&file("")), "my.dist");
    // The points are not monotone, and the last line is incomplete.
    refused(
        &text,
        Some(&file("0 0\n100 0.9\n200 0.5\n300 1\n")),
        "my.dist:7",
    );
    refused(&text, Some(&file("0 0\n100 0.9\n20")), "my.dist:7");
    refused(&text, Some(b"\xff\xfe\x00"), "my.dist");
    refused(&with("{ file = \"nothing/here\" }"), None, "cannot read");
    let directory = with("{ file = \".\" }");
    refused(&directory, None, "not a regular file");
    std::fs::write(folder.join("my.dist"), file("0 0\n100 0.5\n1000 1\n")).unwrap();
    assert!(load_in(&text, &folder, &[]).is_ok(), "a good file is taken");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn flow_files() {
    let folder = std::env::temp_dir().join(format!("backwater-flows-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let start = LINKS.find("flows = [").unwrap();
    let text = format!("{}file = \"flows.csv\"\n", &LINKS[..start]);
    let attempt = |content: &str| {
        std::fs::write(folder.join("flows.csv"), content).unwrap();
        load_in(&text, &folder, &[])
    };
    let refused = |content: &str, message: &str| {
        let problems = attempt(content).expect_err("this must be refused");
        assert_eq!(
            (problems[0].line(), problems[0].column()),
            (Some(15), Some(8)),
            "{}",
            problems[0]
        );
        assert!(
            problems[0].message.contains(message),
            "{}\nlacks {message:?}",
            problems[0]
        );
    };
    refused("src,dst,bytes,start\n0,1,0,1us\n", "flows.csv:2:5");
    refused(
        "src,dst,bytes,start\n0,9,10,1us\n",
        "there is no host 9; hosts are 0 to 2",
    );
    refused("src,dst,bytes,start\n0,1,10,-1us\n", "negative");
    refused("src,dst,bytes,start\n0,1,1", "flows.csv:2");
    refused(
        "src,dst,bytes,start,class\n0,1,10,1us,8\n",
        "there is no class 8",
    );
    let good = attempt("src,dst,bytes,start\n0,1,10,1us\n").unwrap();
    // The run has a different working folder, so `resolved.toml` contains the full path of the
    // file.
    let full = folder.canonicalize().unwrap().join("flows.csv");
    assert!(
        good.resolved
            .contains(&format!("file = \"{}\"", full.display())),
        "{}",
        good.resolved
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn named_distributions() {
    let text = changed(GOOD, "google-allrpc@bfc", "google-alrpc@bfc");
    refused(
        &text,
        16,
        9,
        "google-allrpc@bfc",
        "backwater list workloads",
    );
}

#[test]
fn zero_size_flow() {
    let text = changed(
        LINKS,
        "dst = \"c\", bytes = \"1MB\"",
        "dst = \"c\", bytes = \"0B\"",
    );
    refused(&text, 16, 37, "0B is out of range", "from 1B");
    let text = changed(GOOD, "sizes = \"google-allrpc@bfc\"", "size = \"0B\"");
    refused(&text, 16, 8, "0B is out of range", "from 1B");
    let text = changed(GOOD, "total = \"2MB\"", "total = \"3B\"");
    refused(&text, 24, 10, "0 bytes", "docs/scenario.md");
}

// TRA-22: chosen hosts
#[test]
fn chosen_hosts() {
    let with = |keys: &str| {
        changed(
            GOOD,
            "pattern = \"incast\"\ndegree = 4\ntotal = \"2MB\"",
            &format!("pattern = \"between\"\nsize = \"64KB\"\n{keys}"),
        )
    };
    load(&with("senders = { first = 1, count = 7 }\nreceivers = [0]")).expect("right");
    let text = with("senders = [1, 9]\nreceivers = [0]");
    refused(&text, 25, 11, "there is no host 9", "from 0 to 7");
    let text = with("senders = { first = 3, count = 6 }\nreceivers = [0]");
    refused(&text, 25, 32, "no 6 hosts from host 3", "8 hosts");
    let text = with("senders = []\nreceivers = [0]");
    refused(&text, 25, 11, "the list of hosts is empty", "at least one");
    let text = with("senders = 3\nreceivers = [0]");
    refused(&text, 25, 11, "expected", "first = 1");
    assert!(
        only(&with("senders = [0, 1]\nreceivers = [1]"))
            .message
            .contains("would send to itself")
    );
    assert!(only(&with("receivers = [1]")).message.contains("senders"));
    let text = changed(GOOD, "of = \"core\"", "of = \"receivers\"");
    refused(&text, 18, 32, "receivers", "hosts");
}

/// Sixteen hosts on one switch. Eight of them have slow links.
fn mixed_speeds(traffic: &str) -> String {
    let link = |host: u32| {
        let rate = if host < 8 { 100 } else { 10 };
        format!("    {{ a = \"h{host}\", b = \"s\", rate = \"{rate}Gbps\", delay = \"1us\" }},\n")
    };
    let links: String = (0..16).map(link).collect();
    format!(
        "name = \"mixed\"\n[topology]\nkind = \"links\"\nhosts = 16\nswitches = [\"s\"]\n\
         links = [\n{links}]\n[[traffic]]\nname = \"x\"\n{traffic}\nwindow = [\"0us\", \"5ms\"]\n"
    )
}

// TOP-25, TRA-25: overloaded links
#[test]
fn links_that_are_offered_more_than_they_carry_are_named() {
    let warnings = |text: &str| -> Vec<String> {
        let scenario = load(text).unwrap_or_else(|p| panic!("{}", p[0]));
        scenario
            .warnings
            .iter()
            .map(|w| w.message.clone())
            .collect()
    };
    let sizes = "size = \"1MB\"\nload = { fraction = 0.3, of = \"hosts\" }";
    // A load of 30 % of 880 Gbps, divided among 16 hosts, is 16.5 Gbps per host in both directions.
    // This exceeds a link of 10 Gbps.
    let uniform = warnings(&mixed_speeds(&format!("pattern = \"uniform\"\n{sizes}")));
    assert_eq!(uniform.len(), 1, "{uniform:?}");
    for part in ["h8->s 165.0 %", "h9->s 165.0 %", "and 13 more"] {
        assert!(uniform[0].contains(part), "{uniform:?}");
    }
    // Half of the load is 8.25 Gbps per host, which does not exceed a link of 10 Gbps.
    let half = sizes.replace("0.3", "0.15");
    let half = warnings(&mixed_speeds(&format!("pattern = \"uniform\"\n{half}")));
    assert_eq!(half, [""; 0]);
    // All flows have the same receiver.
    let many = "pattern = \"between\"\nsenders = { first = 0, count = 8 }\nreceivers = [8]";
    let every = "size = \"1MB\"\nevery = \"400us\"";
    let one = warnings(&mixed_speeds(&format!("{many}\n{every}")));
    assert_eq!(one.len(), 1, "{one:?}");
    assert!(one[0].contains("s->h8 200.0 %") && !one[0].contains("more than they carry: h"));
    // With two uplinks per leaf, the load of the core is the load of these uplinks.
    let core = changed(
        GOOD,
        "fraction = 0.55, of = \"core\"",
        "fraction = 0.99, of = \"core\"",
    );
    let core = changed(&core, "\"500us\"", "\"100us\"");
    let core = warnings(&core);
    assert!(core[0].contains("leaf0->spine0"), "{core:?}");
}

/// Returns the path of a new, empty folder for one test.
fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("backwater-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Loads a scenario whose flows are in a file with this content.
fn listed(csv: &str) -> Result<Scenario, Vec<Problem>> {
    let dir = folder("list-of-flows");
    std::fs::write(dir.join("flows.csv"), csv).unwrap();
    let start = LINKS.find("flows = [").unwrap();
    load_in(
        &format!("{}file = \"flows.csv\"\n", &LINKS[..start]),
        &dir,
        &[],
    )
}

// TRA-26: file of flows
#[test]
fn a_file_of_flows_names_hosts_and_reports_all_its_errors() {
    let good = listed("src,dst,bytes,start\na,c,1000,0us\n1,b,5,1us\n").expect_err("1 is b");
    assert!(
        good[0]
            .message
            .contains(":3:3: host b would send to itself"),
        "{}",
        good[0]
    );
    let good = listed("note,src,dst,bytes,start\nx,a,c,1000,0us\ny,1,0,5,1us\n");
    let good = good.unwrap_or_else(|p| panic!("{}", p[0]));
    assert_eq!(good.warnings.len(), 1);
    let warning = good.warnings[0].message.as_str();
    assert!(
        warning.contains("flows.csv:1:1: column 'note' is not used"),
        "{warning}"
    );
    let traffic::Pattern::List(flows) = &good.spec.traffic[0].pattern else {
        panic!("a list");
    };
    assert_eq!(
        flows.iter().map(|f| (f.src, f.dst)).collect::<Vec<_>>(),
        [(0, 2), (1, 0)]
    );
    let wrong = listed("src,dst,bytes,start\ns,c,1,0us\na,z,1,0us\na,3,1,0us\na,b,0,0us\n");
    let places: Vec<String> = wrong
        .expect_err("four errors")
        .iter()
        .map(|p| {
            p.message
                .split(": ")
                .next()
                .unwrap()
                .rsplit('/')
                .next()
                .unwrap()
                .to_owned()
        })
        .collect();
    let expected = [(2, 1), (3, 3), (4, 3), (5, 5)];
    assert_eq!(
        places,
        expected.map(|(line, column)| format!("flows.csv:{line}:{column}"))
    );
}

// TRA-27: sizes from CSV
#[test]
fn a_csv_of_sizes_needs_its_interpolation() {
    let dir = folder("csv-of-sizes");
    std::fs::write(dir.join("sizes.csv"), "bytes,cdf\n0,0\n1000,0.5\n3000,1\n").unwrap();
    let head = "name = mine\norigin = me\nunit = bytes\ninterpolation = step\n";
    std::fs::write(dir.join("my.dist"), format!("{head}1000 0.5\n3000 1\n")).unwrap();
    let read = |sizes: &str| {
        let text = changed(
            GOOD,
            "sizes = \"google-allrpc@bfc\"",
            &format!("sizes = {{ {sizes} }}"),
        );
        load_in(&text, &dir, &[])
    };
    for (mode, mean) in [("linear", 1250.0), ("step", 2000.0)] {
        let sizes = format!("file = \"sizes.csv\", interpolation = \"{mode}\"");
        let scenario = read(&sizes).unwrap_or_else(|p| panic!("{}", p[0]));
        let found = scenario.spec.traffic[0]
            .sizes
            .as_ref()
            .map(traffic::Sizes::mean);
        assert_eq!(found, Some(mean));
        let again = load_in(&scenario.resolved, &dir, &[]).unwrap_or_else(|p| panic!("{}", p[0]));
        assert_eq!(again.spec, scenario.spec);
    }
    for (sizes, says) in [
        ("file = \"sizes.csv\"", "interpolation"),
        (
            "file = \"my.dist\", interpolation = \"step\"",
            "is no CSV of `bytes,cdf`",
        ),
        (
            "fixed = \"1MB\", interpolation = \"step\"",
            "only a CSV file needs it",
        ),
        ("file = \"sizes.csv\", interpolation = \"cubic\"", "cubic"),
    ] {
        let problems = read(sizes).expect_err(sizes);
        assert_eq!(problems.len(), 1, "{sizes}");
        assert!(problems[0].to_string().contains(says), "{}", problems[0]);
    }
}

// TOP-05: parallel links
#[test]
fn one_of_several_links_is_named_with_its_number() {
    let link = r#"    { a = "s", b = "t", rate = "100Gbps", delay = "1us" },"#;
    let twice = changed(LINKS, link, &format!("{link}\n{link}"));
    let failing = |name: &str| {
        let keys = format!("[[topology.failures]]\nlinks = [\"{name}\"]\n");
        load(&changed(
            &twice,
            "[[traffic]]",
            &format!("{keys}[[traffic]]"),
        ))
    };
    let down = |name: &str| -> Vec<String> {
        let scenario = failing(name).unwrap_or_else(|p| panic!("{}", p[0]));
        scenario.link_epochs()[0].down.clone()
    };
    assert_eq!(down("s--t#1"), ["s--t#1"]);
    assert_eq!(down("t--s#2"), ["s--t#2"], "both ends count alike");
    assert_eq!(down("a--s"), ["a--s"]);
    for (name, says) in [
        ("s--t", "2 links join s and t"),
        ("s--t#3", "2 links join s and t"),
        ("s--t#0", "2 links join s and t"),
        ("a--s#2", "one link joins a and s"),
        ("a--t", "no link joins a and t"),
    ] {
        let problems = failing(name).expect_err(name);
        assert!(
            problems[0].message.contains(says),
            "{name}: {}",
            problems[0]
        );
    }
    let recorded = |key: &str| {
        let text = format!("{twice}\n[record]\n{key}\n");
        let scenario = load(&text).unwrap_or_else(|p| panic!("{}", p[0]));
        let links = scenario.info().captured.into_iter().map(|link| link.name);
        links.collect::<Vec<_>>()
    };
    let capture = |pattern: &str| recorded(&format!("capture = {{ links = [\"{pattern}\"] }}"));
    assert_eq!(capture("s->t"), ["s->t#1", "s->t#2"]);
    assert_eq!(capture("s->t#2"), ["s->t#2"]);
}

// TOP-06: direct links between hosts
#[test]
fn hosts_do_not_forward() {
    let ring = |traffic: &str| {
        let link =
            |(a, b)| format!("{{ a = \"{a}\", b = \"{b}\", rate = \"100Gbps\", delay = \"1us\" }}");
        let links = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
            .map(link)
            .join(", ");
        load(&format!(
            "name = \"ring\"\n[topology]\nkind = \"links\"\nhosts = [\"a\", \"b\", \"c\", \"d\"]\n\
             switches = []\nlinks = [{links}]\n[[traffic]]\nname = \"x\"\n{traffic}\n"
        ))
    };
    let list = |src: &str, dst: &str| {
        let flow = format!("{{ src = \"{src}\", dst = \"{dst}\", bytes = \"1MB\" }}");
        ring(&format!("pattern = \"list\"\nflows = [{flow}]"))
    };
    for (src, dst) in [("a", "b"), ("a", "d"), ("d", "c")] {
        let scenario = list(src, dst).unwrap_or_else(|p| panic!("{}", p[0]));
        assert_eq!(scenario.warnings, []);
    }
    let problems = list("b", "d").expect_err("b and d are not neighbours");
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0].message.contains("from b to d"),
        "{}",
        problems[0]
    );
    assert_eq!(problems[0].key, "traffic.0.flows");
    let problems = ring("pattern = \"permutation\"\nsize = \"1MB\"").expect_err("any pair");
    assert!(
        problems[0].message.contains("from a to c"),
        "{}",
        problems[0]
    );
}

// NIC-54: limit of packet sequence numbers
#[test]
fn flows_have_as_many_bytes_as_packet_numbers_can_count() {
    let list = "flows = [{ src = 0, dst = 1, bytes = \"SIZE\" }]";
    let traffic = |keys: &str| format!("[[traffic]]\nname = \"x\"\n{keys}\n");
    let sources = [
        (
            "traffic.0.flows",
            traffic(&format!("pattern = \"list\"\n{list}")),
        ),
        (
            "traffic.0.size",
            traffic("pattern = \"permutation\"\nsize = \"SIZE\""),
        ),
        (
            "traffic.0.sizes",
            traffic("pattern = \"permutation\"\nsizes = { fixed = \"SIZE\" }"),
        ),
        (
            "traffic.0.total",
            traffic("pattern = \"incast\"\ndegree = 1\ntotal = \"SIZE\""),
        ),
        (
            "workload.0.size",
            "[[workload]]\nname = \"x\"\ncollective = \"broadcast\"\nsize = \"SIZE\"\n".to_owned(),
        ),
        (
            "workload.0.steps",
            "[[workload]]\nname = \"x\"\nsteps = [{ send = [[0, 1]], size = \"SIZE\" }]\n"
                .to_owned(),
        ),
    ];
    let base = "name = \"large\"\n[topology]\nkind = \"star\"\nhosts = 2\n\
                link = { rate = \"400Gbps\", delay = \"1us\" }\n\
                [scheme]\nmtu = \"100B\"\n";
    for (key, source) in sources {
        // 2^31 packets of 100 bytes are the maximum.
        for good in ["5GB", "214748364800B"] {
            let text = format!("{base}{}", source.replace("SIZE", good));
            assert!(load(&text).is_ok(), "{key}: {good}");
        }
        let text = format!("{base}{}", source.replace("SIZE", "214748364801B"));
        let problem = only(&text);
        assert_eq!(
            (problem.key.as_str(), problem.code),
            (key, Code::ImpossibleSet)
        );
        assert!(problem.at.is_some(), "{key}");
    }
}

#[test]
fn no_hosts() {
    let text = changed(GOOD, "hosts_per_leaf = 4", "hosts_per_leaf = 0");
    refused(&text, 7, 18, "0 is out of range", "from 1");
    let text = changed(LINKS, "hosts = [\"a\", \"b\", \"c\"]", "hosts = []");
    refused(&text, 4, 9, "at least 2 needed", "h0");
}

#[test]
fn links_and_names_that_cannot_be() {
    let text = changed(LINKS, "a = \"s\", b = \"t\"", "a = \"s\", b = \"s\"");
    refused(&text, 10, 20, "from a node to itself", "must differ");
    let text = changed(
        LINKS,
        "switches = [\"s\", \"t\"]",
        "switches = [\"s\", \"a\"]",
    );
    refused(&text, 5, 12, "two nodes are called `a`", "its own name");
}

#[test]
fn negative_and_absurd() {
    let text = changed(GOOD, "delay = \"1us\"", "delay = \"-1us\"");
    refused(&text, 8, 36, "`-1us` is negative", "such as \"1us\"");
    let text = changed(GOOD, "\"12MB\"", "\"1e30B\"");
    refused(&text, 11, 10, "beyond the largest size", "such as \"12MB\"");
    let text = changed(GOOD, "\"12MB\"", "1e30");
    refused(&text, 11, 10, "a size needs a unit", "such as \"12MB\"");
    let text = changed(
        GOOD,
        "leaves = 2",
        "leaves = 1000000000000000000000000000000",
    );
    refused(&text, 5, 10, "out of range", "1 to 65535");
    let text = changed(GOOD, "leaves = 2", "leaves = 60000");
    let text = changed(&text, "hosts_per_leaf = 4", "hosts_per_leaf = 60000");
    refused(&text, 5, 10, "would have 3600000000 hosts", "at most");
    let text = changed(
        GOOD,
        "\"core\" }\nwindow = [\"0us\", \"5ms\"]",
        "\"core\" }\nwindow = [\"5ms\", \"5ms\"]",
    );
    refused(&text, 19, 10, "ends before it begins", "[\"0us\", \"5ms\"]");
    let text = changed(
        GOOD,
        "\"core\" }\nwindow = [\"0us\", \"5ms\"]",
        "\"core\" }\nwindow = [\"0us\", \"900s\"]",
    );
    refused(&text, 13, 1, "flows", "shorten the windows");
}

#[test]
fn truncated_and_broken_text() {
    let problem = only(&GOOD[..GOOD.find("12MB").unwrap() + 2]);
    assert_eq!(problem.line(), Some(11), "{problem}");
    assert!(problem.message.contains("not valid TOML"), "{problem}");
    assert!(
        load("")
            .unwrap_err()
            .iter()
            .any(|p| p.message.contains("needs `name`"))
    );
    let text = changed(GOOD, "leaves = 2", "leaves = 2\nleaves = 3");
    let problem = only(&text);
    assert_eq!(problem.line(), Some(6), "{problem}");
    // Deep nesting is an error. It must not overflow the stack.
    let deep = format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(load(&deep).is_err());
}

#[test]
fn everything_is_said_at_once_and_in_order() {
    let text = changed(GOOD, "buffer", "bufer");
    let text = changed(&text, "leaves = 2", "leaves = 0");
    let text = changed(&text, "fraction = 0.55", "fraction = 5");
    let text = changed(&text, "preset = \"bfc\"", "preset = \"bcf\"");
    let lines: Vec<_> = load(&text)
        .unwrap_err()
        .iter()
        .map(|p| p.line().unwrap())
        .collect();
    assert_eq!(lines, [5, 11, 18, 30]);
}

#[test]
fn contradictions() {
    let text = changed(
        GOOD,
        "every = \"500us\"",
        "every = \"500us\"\nload = { fraction = 0.1, of = \"hosts\" }",
    );
    refused(
        &text,
        26,
        1,
        "`every` would do nothing: `load`",
        "take it out",
    );
    let text = changed(GOOD, "total = \"2MB\"", "total = \"2MB\"\nsize = \"1MB\"");
    refused(
        &text,
        26,
        1,
        "`size` would do nothing: `total`",
        "take it out",
    );
    let text = changed(GOOD, "kind = \"lognormal\"", "kind = \"poisson\"");
    refused(&text, 17, 32, "`sigma` would do nothing", "take it out");
    let text = changed(GOOD, "queues = 32", "hpcc = { eta = 0.9 }");
    refused(
        &text,
        31,
        1,
        "`hpcc` would do nothing: `control` is not \"hpcc\"",
        "take it out",
    );
    let text = changed(GOOD, "name = \"incast\"", "name = \"background\"");
    refused(
        &text,
        22,
        8,
        "traffic.0 is called \"background\" already",
        "its own name",
    );
    let text = changed(GOOD, "degree = 4", "degree = 9");
    refused(&text, 24, 10, "degree 9", "docs/scenario.md");
}

/// HPCC-30: the message identifies a link whose rate an INT record cannot encode.
#[test]
fn a_link_rate_that_a_record_of_int_cannot_state() {
    let odd = changed(
        GOOD,
        "rate = \"100Gbps\", delay",
        "rate = \"56Gbps\", delay",
    );
    let scheme = |keys: &str| changed(&odd, "preset = \"bfc\"\nqueues = 32\n", keys);
    assert!(load(&scheme("preset = \"hpcc\"\n")).is_ok());
    let problem = only(&scheme("preset = \"hpcc\"\nint.format = \"wire\"\n"));
    assert_eq!(problem.line(), Some(31), "{problem}");
    let wanted = "has 56Gbps, and a record of INT states the rate by a number that stands for one of 1Gbps, 2.5Gbps";
    assert!(problem.message.contains(wanted), "{problem}");
    assert!(problem.message.starts_with("the link from "), "{problem}");
}

/// Checks that keys, added to the scheme of GOOD, are refused with this message and hint.
#[track_caller]
fn scheme_refused(preset: &str, keys: &str, line: usize, message: &str, hint: &str) {
    let text = changed(
        GOOD,
        "preset = \"bfc\"\nqueues = 32\n",
        &format!("preset = \"{preset}\"\n{keys}"),
    );
    let problems = load(&text).expect_err("this must be refused");
    let said = problems.iter().find(|p| p.message.contains(message));
    let said = said.unwrap_or_else(|| panic!("{problems:#?}\nlacks {message:?}"));
    assert_eq!(said.line(), Some(line), "{said}");
    assert!(
        said.hint.as_ref().is_some_and(|h| h.contains(hint)),
        "{said}\nlacks {hint:?}"
    );
}

#[test]
fn impossible_schemes() {
    scheme_refused(
        "bfc",
        "classify = \"fifo\"\nschedule = \"fifo\"\n",
        31,
        "BFC pauses single queues",
        "dynamic",
    );
    // HPCC-41: fixed-point arithmetic needs INT records in wire format
    scheme_refused(
        "hpcc",
        "hpcc = { arithmetic = \"fixed\", division = \"table\" }\n",
        31,
        "HPCC in fixed point reads the records of 8 bytes",
        "int.format = \"wire\"",
    );
    for variant in [
        "reaction = \"per-rtt\"",
        "alpha_fair = 1",
        "sample_feedback = true",
    ] {
        let keys =
            format!("hpcc = {{ arithmetic = \"fixed\", division = \"table\", {variant} }}\n");
        let message = "Algorithm 1 with the table of reciprocals, without variants";
        scheme_refused("hpcc", &keys, 31, message, "reaction = \"combined\"");
    }
    scheme_refused(
        "hpcc",
        "hpcc.arithmetic = \"fixed\"\nint.format = \"wire\"\n",
        31,
        "Algorithm 1 with the table of reciprocals",
        "division = \"table\"",
    );
    scheme_refused(
        "bfc",
        "classify = \"per-flow\"\n",
        31,
        "BFC pauses queues by their number",
        "dynamic",
    );
    scheme_refused(
        "bfc",
        "victims = \"spfc\"\n",
        31,
        "this `admission` has no PFC",
        "admission = \"pfc\"",
    );
    scheme_refused(
        "dcqcn+spfc",
        "pfc.accounting = \"ns3\"\npfc.xoff = 0.125\n",
        31,
        "has another accounting",
        "pfc.accounting = \"pool\"",
    );
    scheme_refused(
        "dcqcn+dt",
        "spfc.k = 5\n",
        31,
        "`victims` is not \"spfc\"",
        "",
    );
    scheme_refused(
        "dcqcn+spfc",
        "spfc.interval = \"4\"\n",
        31,
        "unit",
        "a number of base round trips",
    );
    scheme_refused(
        "hpcc",
        "signal = \"none\"\n",
        31,
        "HPCC reads INT",
        "signal = \"int\"",
    );
    scheme_refused(
        "dcqcn",
        "signal = \"none\"\n",
        31,
        "reacts to ECN marks",
        "signal = \"ecn\"",
    );
    scheme_refused(
        "dctcp",
        "signal = \"int\"\n",
        31,
        "reacts to ECN marks",
        "signal = \"ecn\"",
    );
    scheme_refused(
        "bfc",
        "recovery = \"none\"\n",
        31,
        "packets can be dropped",
        "go-back-n",
    );
    // SPR-07: path policies of senders
    scheme_refused(
        "bfc",
        "path = \"reps\"\n",
        31,
        "go-back-N takes each overtaken one for a loss",
        "set recovery = \"irn\" or \"ideal\"",
    );
    scheme_refused(
        "reps",
        "path = \"permutation\"\nclassify = \"hash\"\n",
        31,
        "puts labels in the place of the hash",
        "path = \"oblivious\"",
    );
    scheme_refused(
        "reps",
        "path = \"oblivious\"\noblivious.values = 65\n",
        32,
        "65 is not a power of two",
        "set values = 128",
    );
    scheme_refused(
        "dcqcn",
        "oblivious.values = 64\n",
        31,
        "`oblivious` would do nothing",
        "take it out",
    );
    scheme_refused(
        "dcqcn",
        "irn.few = 2\n",
        31,
        "`irn` would do nothing",
        "take it out",
    );
    scheme_refused(
        "dcqcn",
        "admission = \"egress-dynamic\"\nrecovery = \"irn\"\nirn.rto_low = \"1ms\"\n",
        33,
        "rto_low is above rto_high",
        "few packets in flight",
    );
    scheme_refused(
        "timely",
        "timely.patched.beta = 0.1\n",
        31,
        "`patched` would do nothing",
        "take it out",
    );
    scheme_refused(
        "dcqcn",
        "ecn.profiles = []\n",
        31,
        "no profile in it",
        "rate = ",
    );
    scheme_refused(
        "dcqcn",
        "ecn.profiles = [3]\n",
        31,
        "a profile is a table",
        "rate = ",
    );
    scheme_refused(
        "dcqcn",
        "ecn.profiles = [{ rate = \"25Gbps\", kmin = \"2KB\", kmax = \"1KB\", pmax = 1.0 }]\n",
        31,
        "kmin 2KB is above kmax 1KB",
        "certain above kmax",
    );
    scheme_refused(
        "dcqcn",
        "ecn.profiles = [{ rate = \"25Gbps\", kmin = \"1KB\", kmax = \"1KB\", pmax = 1.0 }, { rate = \"25Gbps\", kmin \
         = \"1KB\", kmax = \"1KB\", pmax = 1.0 }]\n",
        31,
        "25Gbps has a profile already",
        "one profile",
    );
    scheme_refused(
        "dcqcn",
        "ecn.kmin = \"10KB\"\necn.profiles = [{ rate = \"25Gbps\", kmin = \"1KB\", kmax = \"1KB\", pmax = 1.0 }]\n",
        31,
        "`kmin` would do nothing",
        "take it out",
    );
    scheme_refused(
        "bfc",
        "ack.class = \"data\"\n",
        31,
        "BFC cannot pause ACKs",
        "ack.class = \"control\"",
    );
    scheme_refused(
        "hpcc",
        "int.multiplier = 4\n",
        31,
        "`multiplier` would do nothing: `format` is not \"wire\"",
        "take it out",
    );
    scheme_refused(
        "hpcc",
        "hpcc.epsilon = 0.02\n",
        31,
        "`epsilon` would do nothing: `division` is not \"table\"",
        "take it out",
    );
    scheme_refused(
        "hpcc",
        "hpcc.alpha_fair = \"fair\"\n",
        31,
        "",
        "\"off\", or \"max-min\", or ",
    );
    scheme_refused(
        "hpcc",
        "hpcc.wai = \"0 flows\"\n",
        31,
        "`0 flows` is not a number of flows",
        "\"100 flows\"",
    );
    // HPCC-30: the longest path has three switches, so a packet needs space for three INT records.
    scheme_refused(
        "hpcc",
        "int = { format = \"wire\", bytes = \"25B\" }\n",
        31,
        "the records of a path of 3 switches take 26 B",
        "26B",
    );
    scheme_refused(
        "hpcc",
        "nic.obeys = []\n",
        31,
        "do not obey PFC",
        "nic.obeys",
    );
    scheme_refused(
        "hpcc",
        "schedule = \"drr\"\n",
        31,
        "nothing to schedule",
        "classify",
    );
    scheme_refused(
        "bfc",
        "schedule = \"fifo\"\n",
        31,
        "order of a single queue",
        "round-robin",
    );
    scheme_refused(
        "hpcc",
        "egress-dynamic.alpha = 2.0\n",
        31,
        "`egress-dynamic` would do nothing",
        "take it out",
    );
    scheme_refused(
        "dcqcn",
        "ecn.kmin = \"1MB\"\n",
        31,
        "kmin 1MB is above kmax 400KB",
        "certain above kmax",
    );
    scheme_refused(
        "hpcc",
        "pfc.headroom = \"5MB\"\n",
        11,
        "is smaller than what is set apart",
        "raise switch.buffer",
    );
}

#[test]
fn a_small_buffer_names_both_sums() {
    let text = changed(
        GOOD,
        "preset = \"bfc\"\nqueues = 32",
        "preset = \"line-rate\"",
    );
    let text = changed(&text, "\"12MB\"", "\"100KB\"");
    let problem = only(&text);
    assert_eq!((problem.line(), problem.column()), (Some(11), Some(10)));
    // Headroom of each of 6 ports: 2 us at 100 Gbps, plus 1, two frames of 1048 bytes and 64 bytes.
    // In addition 4096 bytes are reserved per port.
    let headroom = 6 * (25_000 + 1 + 2 * 1_048 + 64);
    assert!(
        problem
            .message
            .contains(&format!("{headroom}B of headroom")),
        "{problem}"
    );
    assert!(problem.message.contains("24KiB reserved"), "{problem}");
}

#[test]
fn int_needs_short_paths() {
    let mut text =
        "name = \"long\"\n[topology]\nkind = \"links\"\nhosts = 2\nswitches = 9\nlinks = [\n"
            .to_owned();
    let mut link = |a: &str, b: &str| {
        text += &format!("{{ a = \"{a}\", b = \"{b}\", rate = \"100Gbps\", delay = \"1us\" }},\n");
    };
    link("h0", "s0");
    for i in 0..8 {
        link(&format!("s{i}"), &format!("s{}", i + 1));
    }
    link("s8", "h1");
    text += "]\n[[traffic]]\nname = \"one\"\npattern = \"permutation\"\nsize = \"1MB\"\n[scheme]\npreset = \"hpcc\"\n";
    let problem = only(&text);
    assert!(
        problem
            .message
            .contains("9 switches, and INT has room for 8"),
        "{problem}"
    );
    assert_eq!(problem.line(), Some(23), "{problem}");
    let text = changed(&text, "\"hpcc\"", "\"dcqcn\"");
    assert!(load(&text).is_ok());
}

#[test]
fn doubtful_things_are_said() {
    let warns = |from: &str, to: &str, message: &str| {
        let scenario = load(&changed(GOOD, from, to)).unwrap_or_else(|p| panic!("{}", p[0]));
        let said = scenario
            .warnings
            .iter()
            .any(|w| w.message.contains(message));
        assert!(said, "{:#?}\nlacks {message:?}", scenario.warnings);
    };
    let scheme = "preset = \"bfc\"\nqueues = 32";
    warns(
        scheme,
        "preset = \"bfc\"\nadmission = \"pfc\"",
        "BFC and PFC are both on",
    );
    warns(
        scheme,
        "preset = \"line-rate\"\nsignal = \"ecn\"",
        "does not look at them",
    );
    warns(
        scheme,
        "preset = \"hpcc\"\npath = \"packet\"",
        "takes every packet that overtakes",
    );
    // PTH-02: least-loaded paths reorder packets
    warns(
        scheme,
        "preset = \"bfc\"\npath = \"least-loaded\"",
        "takes every packet that overtakes",
    );
    // REC-20: IRN retransmits packets that were only reordered
    warns(
        scheme,
        "preset = \"bfc\"\npath = \"packet\"\nrecovery = \"irn\"",
        "IRN sends every packet again that another overtakes",
    );
    warns(
        scheme,
        "preset = \"hpcc\"\nrecovery = \"irn\"",
        "timeouts send packets again that pauses hold up",
    );
    warns(
        scheme,
        "preset = \"bfc\"\ngo-back-n.timeout = \"off\"",
        "waits for ever",
    );
    warns(
        scheme,
        "preset = \"hpcc\"\nbase_rtt = \"2us\"",
        "longest round trip of the empty network",
    );
    // Only one of the two controls uses the base round trip.
    warns(
        scheme,
        "preset = \"hpcc\"\ncontrol = [\"line-rate\", \"hpcc\"]\nbase_rtt = \"2us\"",
        "longest round trip of the empty network",
    );
    warns(
        scheme,
        "preset = \"hpcc\"\npfc.headroom = \"20KB\"",
        "below the",
    );
    warns(
        scheme,
        "preset = \"hpcc\"\npfc.xoff = \"20MB\"",
        "full before anyone is told",
    );
    warns(
        scheme,
        "preset = \"dcqcn\"\npfc.xoff = \"50KB\"",
        "before ECN starts to mark",
    );
    warns(
        scheme,
        "preset = \"bfc\"\nnic.obeys = []",
        "neither obey BFC nor limit",
    );
    warns("fraction = 0.55", "fraction = 1.0", "leaf0->spine0 104.6 %");
    // The payload fits: 0.91 is below 1. The incast adds 0.046 (320 Gbps · 0.571, of 400 Gbps).
    warns(
        "fraction = 0.55",
        "fraction = 0.93",
        "of the core, in payload",
    );
    warns(
        scheme,
        "preset = \"bfc\"\n[run]\nuntil = \"1ms\"",
        "before the last flow may start",
    );
}

#[test]
fn overrides() {
    let load = |set: &[&str]| load_in(GOOD, Path::new("."), set);
    let spec = load(&[
        "traffic.0.load.fraction=0.3",
        "traffic.incast.degree=3",
        "switch.buffer=8MB",
        "seed=7",
    ])
    .unwrap()
    .spec;
    assert_eq!((spec.buffer_bytes, spec.seed), (8_000_000, 7));
    let shown = format!("{:?}", spec.traffic);
    assert!(
        shown.contains("fraction: 0.3") && shown.contains("degree: 3"),
        "{shown}"
    );
    let refused = |set: &str, column: usize, message: &str, hint: &str| {
        let problems = load(&[set]).expect_err("this must be refused");
        let problem = &problems[0];
        assert_eq!(problem.at.as_ref().unwrap().source.name, "--set");
        assert_eq!(problem.column(), Some(column), "{problem}");
        assert!(problem.message.contains(message), "{problem}");
        assert!(problem.hint.as_ref().unwrap().contains(hint), "{problem}");
    };
    refused("switch.buffer=8", 15, "a size needs a unit", "12MB");
    refused(
        "switch.bufer=8MB",
        1,
        "unknown key `bufer`",
        "did you mean `buffer`?",
    );
    refused(
        "traffic.incst.degree=8",
        1,
        "there is no `incst`",
        "did you mean `incast`?",
    );
    refused(
        "scheme.preset=hpc",
        15,
        "there is no \"hpc\"",
        "did you mean \"hpcc\"?",
    );
    refused(
        "scheme.preset=delay-window",
        15,
        "there is no \"delay-window\"",
        "--set scheme.control=delay-window",
    );
    refused("seed", 1, "has no `=`", "key=value");
}

#[test]
fn another_scheme_leaves_the_first_ones_axes_out() {
    let changes = Changes {
        scheme: Some("hpcc".into()),
        seed: Some(9),
        ..Changes::default()
    };
    let scenario = Scenario::parse(GOOD, "test.toml", Path::new("."), &changes).unwrap();
    assert_eq!(
        (scenario.spec.scheme.preset.as_str(), scenario.spec.seed),
        ("hpcc", 9)
    );
    assert!(
        scenario.warnings[0]
            .message
            .contains("`queues` of the scenario does not apply to hpcc"),
        "{}",
        scenario.warnings[0]
    );
    let changes = Changes {
        scheme: Some("bfc".into()),
        ..Changes::default()
    };
    let scenario = Scenario::parse(GOOD, "test.toml", Path::new("."), &changes).unwrap();
    assert_eq!(scenario.spec.scheme.queues, 32);
    assert_eq!(scenario.warnings, []);
}

// PRE-291: a contradiction with the scenario's own preset is an error with every other preset too
#[test]
fn another_scheme_does_not_hide_a_contradiction_of_the_scenario() {
    let text = format!("{GOOD}\n[scheme.ecn]\nkmin = \"400KB\"\nkmax = \"100KB\"\n")
        .replace("preset = \"bfc\"\nqueues = 32", "preset = \"dcqcn\"");
    for scheme in [None, Some("dcqcn+win".to_owned())] {
        let changes = Changes {
            scheme,
            ..Changes::default()
        };
        let error = Scenario::parse(&text, "test.toml", Path::new("."), &changes).unwrap_err();
        let found = error
            .problems
            .iter()
            .find(|p| p.code == Code::ImpossibleSet);
        assert!(
            found.is_some_and(|p| p.key.starts_with("scheme.ecn")),
            "{error}"
        );
    }
}

// PRE-291: parameters that the other preset supports are kept
#[test]
fn another_scheme_keeps_the_parameters_that_it_has() {
    let of = |own: &str, other: &str| {
        let text = format!("{GOOD}\n{own}").replace("queues = 32\n", "");
        let changes = Changes {
            scheme: Some(other.into()),
            ..Changes::default()
        };
        let scenario = Scenario::parse(&text, "test.toml", Path::new("."), &changes)
            .unwrap_or_else(|error| panic!("{other}: {error}"));
        let left_out = |p: &&Problem| p.code == Code::LeftOut;
        let keys = scenario.warnings.iter().filter(left_out);
        let keys: Vec<String> = keys.map(|p| p.key.clone()).collect();
        (scenario, keys)
    };
    let own = "base_rtt = \"pair\"\nqueues = 16\nheader = \"60B\"\ncontrol = \"hpcc\"\nsignal = \"int\"\n\
               [scheme.pfc]\nxoff = 0.1\n[scheme.nic]\nqueues = 8\nhost_delay = \"1us\"\n\
               [scheme.hpcc]\neta = 0.9\n";
    let (scenario, left_out) = of(own, "dcqcn");
    let scheme = &scenario.spec.scheme;
    assert_eq!(scheme.base_rtt, BaseRtt::Pair);
    assert_eq!(scheme.nic.header, 60);
    assert!(scheme.nic.host.processing.is_some());
    assert!(
        scenario.resolved.contains("xoff = 0.1  # scenario"),
        "{}",
        scenario.resolved
    );
    let expected = [
        "scheme.control",
        "scheme.signal",
        "scheme.queues",
        "scheme.nic.queues",
        "scheme.hpcc",
    ];
    assert_eq!(
        sorted(left_out),
        sorted(expected.map(str::to_owned).to_vec())
    );
    // With HPCC as the preset, the table `hpcc` applies. There is one queue per class, so the key
    // `queues` is omitted.
    let (scenario, left_out) = of(own, "hpcc");
    assert!(
        scenario.resolved.contains("eta = 0.9  # scenario"),
        "{}",
        scenario.resolved
    );
    assert!(
        !left_out.contains(&"scheme.hpcc".to_owned()),
        "{left_out:?}"
    );
    // A preset with a configurable number of queues uses the value of `queues`.
    let (scenario, left_out) = of("queues = 16\n", "hpcc+sfq");
    assert_eq!((scenario.spec.scheme.queues, left_out), (16, Vec::new()));
    // A value that is invalid for every preset remains an error.
    let changes = Changes {
        scheme: Some("dcqcn".into()),
        ..Changes::default()
    };
    let text = GOOD.replace("queues = 32", "base_rtt = \"often\"");
    let error = Scenario::parse(&text, "test.toml", Path::new("."), &changes).unwrap_err();
    assert_eq!(error.problems[0].key, "scheme.base_rtt");
}

fn sorted(mut words: Vec<String>) -> Vec<String> {
    words.sort();
    words
}

#[test]
fn unreadable_scenarios() {
    let says = |path: &Path, part: &str| {
        let error = Scenario::load(path, &Changes::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{error}");
    };
    says(
        Path::new("no/such/file.toml"),
        "cannot read no/such/file.toml",
    );
    says(&std::env::temp_dir(), "is not a file");
    let file = std::env::temp_dir().join(format!("backwater-latin1-{}.toml", std::process::id()));
    std::fs::write(&file, b"name = \"caf\xe9\"").unwrap();
    says(&file, "not text in UTF-8: byte 11");
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn records() {
    let text = |record: &str| format!("{GOOD}[record]\n{record}\n");
    let cases = [
        (
            "queues = { every = \"1us\", ports = \"all\" }",
            35,
            "there is no \"all\"",
            "\"switches\" for all",
        ),
        (
            "queues = { every = \"1us\", ports = [\"leaf0->spine2\"] }",
            35,
            "there is no node \"spine2\"",
            "did you mean \"spine1\"?",
        ),
        (
            "queues = { every = \"1us\", ports = [\"host0->leaf0\"] }",
            35,
            "only switches have queues",
            "\"leaf0->host0\"",
        ),
        (
            "queues = { every = \"1us\", ports = [\"leaf0->host5\"] }",
            35,
            "no link joins leaf0 and host5",
            "linked to host0, host1",
        ),
        (
            "queues = { every = \"1us\", ports = [\"leaf0\"] }",
            35,
            "names no port",
            "the switch and its neighbour",
        ),
        (
            "throughput = { every = \"1ps\" }",
            24,
            "out of range",
            "from 1ns",
        ),
        (
            "rtt = { bin = \"1us\", window = [\"2us\", \"1us\"] }",
            31,
            "ends before it begins",
            "two times",
        ),
        ("rtt = 5", 7, "not a table", "write [record.rtt]"),
        ("rrt = { bin = \"1us\" }", 1, "unknown key `rrt`", "`rtt`"),
        (
            "histogram = { every = \"1us\" }",
            13,
            "needs `bin`",
            "bin = \"1KB\"",
        ),
    ];
    for (record, column, message, hint) in cases {
        refused(&text(record), 33, column, message, hint);
    }
}

/// Each message has a stable code, because programs identify messages by their codes.
#[test]
fn every_message_has_a_code() {
    let with = |from: &str, to: &str| only(&changed(GOOD, from, to)).code;
    let cases = [
        (with("\"good\"", "good"), Code::NotToml, "not-toml"),
        (with("buffer", "bufer"), Code::UnknownKey, "unknown-key"),
        (with("spines = 2\n", ""), Code::MissingKey, "missing-key"),
        (
            with("leaves = 2", "leaves = true"),
            Code::WrongType,
            "wrong-type",
        ),
        (with("\"12MB\"", "\"12us\""), Code::WrongType, "wrong-type"),
        (
            with("leaves = 2", "leaves = 0"),
            Code::OutOfRange,
            "out-of-range",
        ),
        (
            with("\"uniform\"", "\"uniforn\""),
            Code::UnknownName,
            "unknown-name",
        ),
        (
            with("google-allrpc@bfc", "google"),
            Code::UnknownName,
            "unknown-name",
        ),
        (with("\"good\"", "\"\""), Code::WrongValue, "wrong-value"),
        (
            with("queues = 32", "hpcc.eta = 0.9"),
            Code::UselessKey,
            "useless-key",
        ),
        (
            with("queues = 32", "ack.class = \"data\""),
            Code::ImpossibleSet,
            "impossible-set",
        ),
        (
            with("total =", "size = \"1MB\"\ntotal ="),
            Code::UselessKey,
            "useless-key",
        ),
        (
            with("degree = 4", "degree = 9"),
            Code::ImpossibleSet,
            "impossible-set",
        ),
    ];
    for (code, expected, name) in cases {
        assert_eq!((code, code.name()), (expected, name));
    }
    let problems = load_in(GOOD, Path::new("."), &["seed"]).unwrap_err();
    assert_eq!(problems[0].code.name(), "bad-override");
    let error = Scenario::load(Path::new("no.toml"), &Changes::default()).unwrap_err();
    assert_eq!(error.problems[0].code.name(), "unreadable");
    let warned = load(&changed(GOOD, "queues = 32", "admission = \"pfc\"")).unwrap();
    assert_eq!(warned.warnings[0].code.name(), "doubtful");
    let changes = Changes {
        scheme: Some("hpcc".into()),
        ..Changes::default()
    };
    let warned = Scenario::parse(GOOD, "test.toml", Path::new("."), &changes).unwrap();
    assert_eq!(warned.warnings[0].code.name(), "left-out");
    let mut names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Code::ALL.len());
}
