//! Tests of flow lists in CSV files.

use proptest::prelude::*;
use traffic::list::parse_flow_csv_bytes;
use traffic::{Error, FlowFile, KnownHosts, ListedFlow};

/// Hosts 0 to 9. Hosts 0 and 1 have names.
const HOSTS: KnownHosts<'_> = KnownHosts {
    count: 10,
    find: &|name| {
        ["red", "h1"]
            .iter()
            .position(|known| *known == name)
            .map(|n| n as u32)
    },
    max_class: 7,
};

fn parse(text: &str) -> Result<FlowFile, Vec<Error>> {
    traffic::parse_flow_csv(text, &HOSTS)
}

fn parse_flow_csv(text: &str) -> Result<Vec<ListedFlow>, Error> {
    match parse(text) {
        Ok(file) => Ok(file.flows),
        Err(errors) => Err(errors.into_iter().next().expect("an error")),
    }
}

/// TRA-14: CSV of flows
#[test]
fn columns_come_in_any_order_and_starts_carry_their_unit() {
    let text = "\u{feff}# my flows\r\nstart, bytes, dst ,src,class\r\n\r\n 1.5us,1000,2,1,3\r\n\"0ns\",7,0,2,\r\n";
    let flow = |src, dst, bytes, start_ps, class| ListedFlow {
        port: 100,
        src_port: None,
        src,
        dst,
        bytes,
        start_ps,
        class,
    };
    let wanted = vec![flow(1, 2, 1000, 1_500_000, Some(3)), flow(2, 0, 7, 0, None)];
    assert_eq!(parse_flow_csv(text), Ok(wanted));
    let starts = [
        ("7ps", 7),
        ("2.001ns", 2001),
        ("3µs", 3_000_000),
        ("1 ms", 1_000_000_000),
        ("1.50s", 1_500_000_000_000),
        (".5ns", 500),
    ];
    for (start, ps) in starts {
        let flows = parse_flow_csv(&format!("src,dst,bytes,start\n0,1,1,{start}\n")).expect(start);
        assert_eq!((flows[0].start_ps, flows[0].class), (ps, None), "{start}");
    }
}

#[test]
fn bad_lists_are_refused_with_place_and_hint() {
    let flow = |line: &str| format!("src,dst,bytes,start,class\n0,1,1,0s,0\n{line}\n");
    let cases = [
        (String::new(), 1, 1, "is empty"),
        ("src,dst,bytes\n".to_owned(), 1, 1, "'start' is missing"),
        (
            "src,dst,bytes,strat\n".to_owned(),
            1,
            1,
            "'start' is missing (is 'strat' meant?)",
        ),
        ("src,src\n".to_owned(), 1, 5, "twice"),
        (
            "0,1,100,10us\n".to_owned(),
            1,
            1,
            "required are src, dst, bytes, start; optional are class",
        ),
        (flow("0,1,1"), 3, 5, "3 fields"),
        (flow("0,1,1,0s,0,0"), 3, 12, "6 fields"),
        (flow("x,1,1,0s,0"), 3, 1, "no host 'x'"),
        (flow("-1,1,1,0s,0"), 3, 1, "no host '-1'"),
        (flow("10,1,1,0s,0"), 3, 1, "hosts are 0 to 9"),
        (flow("4294967296,1,1,0s,0"), 3, 1, "no host 4294967296"),
        (flow("1,1,1,0s,0"), 3, 3, "to itself"),
        (flow("0,1,0,0s,0"), 3, 5, "0 bytes"),
        (flow("0,1,-5,0s,0"), 3, 5, "negative"),
        (flow("0,1,1e30,0s,0"), 3, 5, "whole number"),
        (flow("0,1,999999999999999,0s,0"), 3, 5, "2^48"),
        (
            flow("0,1,99999999999999999999999,0s,0"),
            3,
            5,
            "absurdly large",
        ),
        (flow("0,1,1,10,0"), 3, 7, "no unit"),
        (flow("0,1,1,-1us,0"), 3, 7, "negative"),
        (flow("0,1,1,1e3us,0"), 3, 7, "no time"),
        (flow("0,1,1,us,0"), 3, 7, "no time"),
        (flow("0,1,1,1.2.3us,0"), 3, 7, "no time"),
        (flow("0,1,1,0.0001ns,0"), 3, 7, "finer"),
        (flow("0,1,1,99999999999s,0"), 3, 7, "later"),
        (flow("0,1,1,,0"), 3, 7, "missing"),
        (flow("0,1,,0s,0"), 3, 5, "missing"),
        (flow("0,1,1,0s,8"), 3, 10, "classes are 0 to 7"),
    ];
    for (text, line, column, part) in cases {
        let error = parse_flow_csv(&text).expect_err(&text);
        let place = error.place.expect("a place");
        assert_eq!(
            (place.line, place.column),
            (line, column),
            "{text:?}: {error}"
        );
        assert!(error.to_string().contains(part), "{text:?}: {error}");
    }
}

// TRA-26: hosts by number or name
#[test]
fn hosts_are_numbers_or_names() {
    let file = parse("src,dst,bytes,start\nred,h1,1,0s\n\"h1\",7,1,0s\n").expect("valid");
    let ends: Vec<_> = file.flows.iter().map(|flow| (flow.src, flow.dst)).collect();
    assert_eq!(ends, [(0, 1), (1, 7)]);
    assert_eq!(file.warnings, []);
    let error = parse_flow_csv("src,dst,bytes,start\n0,red,1,0s\n").unwrap_err();
    assert!(
        error.to_string().contains("red would send to itself"),
        "{error}"
    );
}

// TRA-26: other columns
#[test]
fn unknown_columns_are_ignored_with_a_warning() {
    let file = parse("id,src,dst,clas,bytes,start\n7,0,1,x,5,0s\n").expect("valid");
    assert_eq!((file.flows[0].bytes, file.flows[0].class), (5, None));
    let told: Vec<String> = file.warnings.iter().map(ToString::to_string).collect();
    let columns = "required are src, dst, bytes, start; optional are class, port, sport";
    assert_eq!(
        told,
        [
            format!("line 1, column 1: column 'id' is not used; {columns}"),
            format!(
                "line 1, column 12: column 'clas' is not used; did you mean 'class'? {columns}"
            ),
        ]
    );
}

// TRA-26: all errors
#[test]
fn all_errors_of_a_file_are_reported_together() {
    let lines = "99,1,1,0s\n0,1,1,0s\n0,1,0,0s\n0,1\n0,1,1,5\n";
    let errors = parse(&format!("src,dst,bytes,start\n{lines}")).expect_err("four errors");
    let places: Vec<_> = errors
        .iter()
        .map(|e| e.place.map(|p| (p.line, p.column)))
        .collect();
    assert_eq!(
        places,
        [Some((2, 1)), Some((4, 5)), Some((5, 3)), Some((6, 7))]
    );
    let errors = parse("src,bytes,bytes\n").expect_err("a bad header");
    assert_eq!(
        errors.len(),
        3,
        "bytes twice, dst and start missing: {errors:?}"
    );
    // For 1000 errors the message lists the first 20.
    let many = format!("src,dst,bytes,start\n{}", "0,0,1,0s\n".repeat(1000));
    let errors = parse(&many).expect_err("1000 errors");
    assert_eq!(errors.len(), 21);
    assert!(
        errors[20].message.starts_with("980 more errors"),
        "{}",
        errors[20]
    );
}

proptest! {
    #[test]
    fn garbage_never_panics(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        line in "[0-9a-z.,µ\" -]{0,60}",
        field in "[0-9.]{0,30}(ps|ns|us|ms|s)?",
    ) {
        let _ = parse_flow_csv_bytes(&bytes, &HOSTS);
        let _ = parse_flow_csv(&format!("src,dst,bytes,start,class\n{line}\n"));
        let _ = parse_flow_csv(&format!("start,src,dst,bytes\n{field},0,1,1\n"));
    }
}

// TRA-19: port 200 marks an incast
#[test]
fn a_port_may_be_named_and_one_of_them_means_incast() {
    let text = "src,dst,bytes,start,port\n0,1,1000,1us,200\n1,0,1000,2us,\n2,0,1000,3us,7\n";
    let flows = parse_flow_csv(text).unwrap();
    let ports: Vec<u16> = flows.iter().map(|flow| flow.port).collect();
    assert_eq!(ports, [200, 100, 7]);
    let error = parse_flow_csv("src,dst,bytes,start,port\n0,1,1000,1us,70000\n").unwrap_err();
    assert!(error.to_string().contains("65535"), "{error}");
}

// FGC-30: source ports of listed flows
#[test]
fn a_list_may_have_source_ports() {
    let text = "src,dst,bytes,start,sport\n0,1,10,0us,10007\n1,0,10,0us,\n";
    let flows = parse_flow_csv(text).unwrap();
    assert_eq!(
        flows.iter().map(|f| f.src_port).collect::<Vec<_>>(),
        [Some(10_007), None]
    );
    let wrong = parse_flow_csv("src,dst,bytes,start,sport\n0,1,10,0us,70000\n").unwrap_err();
    assert!(wrong.to_string().contains("more than 65535"), "{wrong}");
}
