use proptest::prelude::*;

use super::*;

type Shown = (u64, Option<String>, Option<String>, String);

fn show(event: &Event) -> Shown {
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
    (event.number, event.id.as_ref().map(text), event.name.as_ref().map(text), text(&event.data))
}

/// Reads a stream that arrives in these pieces.
fn decode(pieces: &[&[u8]], limits: Limits) -> (Vec<Shown>, Option<TooLong>, Option<Duration>) {
    let mut decoder = Decoder::new(limits);
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(Bytes::copy_from_slice(piece));
        loop {
            match decoder.next_event() {
                Ok(Some(event)) => events.push(show(&event)),
                Ok(None) => break,
                Err(error) => return (events, Some(error), decoder.retry()),
            }
        }
    }
    (events, None, decoder.retry())
}

#[track_caller]
fn check(stream: &str, expected: &[&str]) {
    let (events, error, _) = decode(&[stream.as_bytes()], Limits::default());
    assert_eq!(error, None);
    let data: Vec<&str> = events.iter().map(|(.., data)| data.as_str()).collect();
    assert_eq!(data, expected, "{stream:?}");
}

#[track_caller]
fn too_long(stream: &[u8], limits: Limits, frame: u64, what: Part) {
    let (_, error, _) = decode(&[stream], limits);
    let error = error.unwrap_or_else(|| panic!("{what} is not found to be too long"));
    assert_eq!((error.frame, error.what), (frame, what), "{error}");
}

#[test]
fn every_line_end_counts_and_a_pair_only_once() {
    check("data: a\n\ndata: b\n\n", &["a", "b"]);
    check("data: a\r\rdata: b\r\r", &["a", "b"]);
    check("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
    check("data: a\r\n\ndata: b\n\r\n", &["a", "b"]);
}

#[test]
fn lines_of_data_are_joined() {
    check("data: a\ndata: b\ndata: c\n\n", &["a\nb\nc"]);
    check("data\ndata: b\n\n", &["\nb"]);
    check("data:a\ndata:  b\n\n", &["a\n b"]);
}

#[test]
fn comments_and_blank_events_keep_alive_and_say_nothing() {
    check(": alive\n\n\n\ndata:\n\nid: 4\n\nevent: x\n\n:\ndata: a\n: b\ndata: c\n\n", &["a\nc"]);
}

#[test]
fn a_byte_order_mark_is_passed_over_once() {
    check("\u{feff}data: a\n\n\u{feff}data: b\n\n", &["a"]);
}

#[test]
fn an_event_without_its_empty_line_never_happened() {
    check("data: a\n\ndata: b\n", &["a"]);
    let mut decoder = Decoder::new(Limits::default());
    decoder.push("data: a\n".into());
    assert_eq!(decoder.next_event(), Ok(None));
    assert!(decoder.is_inside_event());
}

#[test]
fn fields_belong_to_their_own_event() {
    let stream = "retry: 1000\nid: 7\nevent: message\ndata: a\n\nretry: soon\ndata: b\n\n\
                  id: x\0y\nother: z\ndata: c\n\n";
    let (events, _, retry) = decode(&[stream.as_bytes()], Limits::default());
    assert_eq!(events[0], (1, Some("7".into()), Some("message".into()), "a".into()));
    assert_eq!(events[1], (2, None, None, "b".into()));
    assert_eq!(events[2], (3, None, None, "c".into()));
    assert_eq!(retry, Some(Duration::from_secs(1)));
}

#[test]
fn who_takes_leave_is_told_from_who_only_says_when_to_come_back() {
    let mut decoder = Decoder::new(Limits::default());
    decoder.push("retry: 5\ndata: a\n\n".into());
    assert!(decoder.next_event().unwrap().is_some());
    assert_eq!((decoder.retry(), decoder.parting()), (Some(Duration::from_millis(5)), None));
    decoder.push("retry: 9\n: the server stops\n\n".into());
    assert_eq!(decoder.next_event(), Ok(None));
    assert_eq!(decoder.parting(), Some(Duration::from_millis(9)));
}

#[test]
fn one_line_of_data_is_not_copied() {
    let piece = Bytes::from_static(b"data: {\"some\":\"text\"}\n\n");
    let mut decoder = Decoder::new(Limits::default());
    decoder.push(piece.clone());
    let event = decoder.next_event().unwrap().unwrap();
    assert_eq!(event.data.as_ptr(), piece[6..].as_ptr());
}

#[test]
fn every_limit_names_the_frame() {
    let limits = Limits { line: 20, event: 60, stream: 200 };
    let line = "x".repeat(21);
    too_long(format!("data: a\n\ndata: {line}").as_bytes(), limits, 2, Part::Line);
    too_long("data: 123456789\n".repeat(4).as_bytes(), limits, 1, Part::Event);
    too_long(": alive\n\n".repeat(7).as_bytes(), limits, 1, Part::Event);
    too_long("data: 123456\n\n".repeat(20).as_bytes(), limits, 15, Part::Stream);
}

#[test]
fn a_line_without_end_is_not_kept_beyond_its_limit() {
    let limits = Limits { line: 64 << 10, ..Limits::default() };
    let mut decoder = Decoder::new(limits);
    let mut pushed = 0;
    let error = loop {
        decoder.push(Bytes::from(vec![b'x'; 1000]));
        pushed += 1000;
        match decoder.next_event() {
            Ok(None) => assert!(pushed <= limits.line),
            Ok(Some(event)) => panic!("{event:?}"),
            Err(error) => break error,
        }
    };
    assert_eq!((error.frame, error.what, error.limit), (1, Part::Line, 64 << 10));
    // And nothing of it is left, nor taken any more.
    assert!(!decoder.is_inside_event());
    decoder.push("data: a\n\n".into());
    assert_eq!(decoder.next_event(), Err(error));
    assert!(!decoder.is_inside_event());
}

/// Streams in which something happens, and some that are nearly one.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let bits = prop::sample::select(vec![
        "data: a",
        "data:",
        "data",
        "data: {\"b\":1}",
        "id: 1",
        "id:2",
        "event: x",
        "retry: 5",
        ": c",
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        "\r\r",
        "\u{feff}",
        "x",
        " ",
        ":",
        "é",
    ]);
    prop::collection::vec(bits, 0..40).prop_map(|bits| bits.concat().into_bytes())
}

proptest! {
    #[test]
    fn any_cutting_gives_the_same(
        stream in stream(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
        line in 4_usize..30,
        event in 10_usize..80,
        total in 20_u64..300,
    ) {
        let limits = Limits { line, event, stream: total };
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
        let singles: Vec<&[u8]> = stream.chunks(1).collect();
        let whole = decode(&[&stream], limits);
        for cut in [pieces, singles] {
            let (events, error, retry) = decode(&cut, limits);
            prop_assert_eq!((&events, retry), (&whole.0, whole.2));
            // Which limit is met first depends on how much of a line is known.
            prop_assert_eq!(error.map(|error| error.frame), whole.1.map(|error| error.frame));
        }
    }
}
