//! Listed flows and their CSV.

use proptest::prelude::*;
use traffic::list::parse_flow_csv_bytes;
use traffic::{ListedFlow, parse_flow_csv};

/// TRA-14
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
        ("src,dst,bytes,start\n".to_owned(), 1, 1, "no flow"),
        ("src,dst,bytes\n".to_owned(), 1, 1, "'start' is missing"),
        (
            "src,dst,bytes,strat\n".to_owned(),
            1,
            15,
            "did you mean 'start'?",
        ),
        ("src,src\n".to_owned(), 1, 5, "twice"),
        ("0,1,100,10us\n".to_owned(), 1, 1, "must name the columns"),
        (flow("0,1,1"), 3, 5, "3 fields"),
        (flow("0,1,1,0s,0,0"), 3, 12, "6 fields"),
        (flow("x,1,1,0s,0"), 3, 1, "whole number"),
        (flow("-1,1,1,0s,0"), 3, 1, "negative"),
        (flow("4294967296,1,1,0s,0"), 3, 1, "2^32"),
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

#[test]
fn hosts_are_checked_against_their_number() {
    let flows = parse_flow_csv("src,dst,bytes,start\n0,1,1,0s\n1,9,1,0s\n").expect("valid");
    assert_eq!(ListedFlow::check_all(&flows, 10), Ok(()));
    let error = ListedFlow::check_all(&flows, 9)
        .expect_err("host 9")
        .to_string();
    assert!(
        error.contains("flow 2") && error.contains("destination 9") && error.contains("0 to 8"),
        "{error}"
    );
}

proptest! {
    #[test]
    fn garbage_never_panics(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        line in "[0-9a-z.,µ\" -]{0,60}",
        field in "[0-9.]{0,30}(ps|ns|us|ms|s)?",
    ) {
        let _ = parse_flow_csv_bytes(&bytes);
        let _ = parse_flow_csv(&format!("src,dst,bytes,start,class\n{line}\n"));
        let _ = parse_flow_csv(&format!("start,src,dst,bytes\n{field},0,1,1\n"));
    }
}

// TRA-19
#[test]
fn a_port_may_be_named_and_one_of_them_means_incast() {
    let text = "src,dst,bytes,start,port\n0,1,1000,1us,200\n1,0,1000,2us,\n2,0,1000,3us,7\n";
    let flows = parse_flow_csv(text).unwrap();
    let ports: Vec<u16> = flows.iter().map(|flow| flow.port).collect();
    assert_eq!(ports, [200, 100, 7]);
    let error = parse_flow_csv("src,dst,bytes,start,port\n0,1,1000,1us,70000\n").unwrap_err();
    assert!(error.to_string().contains("65535"), "{error}");
}

// FGC-30
#[test]
fn a_list_may_say_source_ports() {
    let text = "src,dst,bytes,start,sport\n0,1,10,0us,10007\n1,0,10,0us,\n";
    let flows = parse_flow_csv(text).unwrap();
    assert_eq!(
        flows.iter().map(|f| f.src_port).collect::<Vec<_>>(),
        [Some(10_007), None]
    );
    let wrong = parse_flow_csv("src,dst,bytes,start,sport\n0,1,10,0us,70000\n").unwrap_err();
    assert!(wrong.to_string().contains("more than 65535"), "{wrong}");
}
