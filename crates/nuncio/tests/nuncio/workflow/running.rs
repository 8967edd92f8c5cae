//! Runs from their beginning to their end.

use super::{LONG, SHOUT, Shop, at_home, came_of, field};

#[test]
fn a_file_runs_to_its_end_and_only_the_result_is_printed() {
    let shop = Shop::open();
    let first = shop.run(&["workflow", "run", "shout.yaml", "--input", "text=hello"]);
    assert_eq!((first.code, &*first.out), (Some(0), "HELLO!\n"), "{first:?}");
    assert_eq!(first.err, "saved shout version 1\n");
    let second = shop.run(&["workflow", "run", "./shout.yaml", "--input", "text=again"]);
    assert_eq!((&*second.out, &*second.err), ("AGAIN!\n", ""), "the same text, the same version");
    shop.user.write("shout.yaml", &SHOUT.replace("{{text}}!", "{{text}}?"));
    let third = shop.run(&["workflow", "run", "shout.yaml", "--input", "text=why"]);
    assert_eq!((&*third.out, &*third.err), ("WHY?\n", "saved shout version 2\n"));
    let old = shop.did(&["workflow", "run", "shout", "--version", "1", "--input", "text=so"]);
    assert_eq!(old, "SO!\n");

    let json = shop.did(&["workflow", "run", "shout", "--input", "text=hi", "-o", "json"]);
    let run: serde_json::Value = serde_json::from_str(&json).expect("the run");
    assert_eq!((&run["state"], &run["version"]), (&"completed".into(), &2.into()));
    assert_eq!(run["output"][0]["parts"][0]["text"], "HI?");
    assert_eq!(run["nodes"][1]["state"], "completed");
}

#[test]
fn inputs_come_from_words_files_and_json() {
    let shop = Shop::open();
    shop.user.write("text.txt", "one\ntwo and three\n");
    let lines = shop.did(&["workflow", "run", "lines.yaml", "--input", "text=@text.txt"]);
    assert!(lines.starts_with("ONE\n"), "{lines}");
    assert!(lines.contains("TWO AND THREE\n"), "{lines}");
    assert!(lines.trim_end().ends_with("4 words") || lines.contains("4\n"), "{lines}");
    let list = r#"text=["x","y"]"#;
    let listed = shop.did(&["workflow", "run", "lines", "--input-json", list]);
    assert!(listed.contains('X') && listed.contains('Y'), "{listed}");

    let broken = shop.run(&["workflow", "run", "lines", "--input-json", "text=[", "-o", "json"]);
    assert_eq!(broken.code, Some(2), "{broken:?}");
    assert!(broken.err.contains("--input-json text"), "{broken:?}");
    let twice = shop.run(&["workflow", "run", "lines", "--input", "text=a", "--input", "text=b"]);
    assert_eq!(twice.code, Some(2), "{twice:?}");
    let file = shop.run(&["workflow", "run", "lines", "--input", "text=@none.txt"]);
    assert!(file.code == Some(2) && file.err.contains("none.txt"), "{file:?}");
    let without = shop.run(&["workflow", "run", "lines"]);
    assert_eq!(without.code, Some(1), "{without:?}");
    assert!(without.err.contains("the input `text` is missing"), "{without:?}");
    let surplus = shop.run(&["workflow", "run", "lines", "--input", "text=a", "--input", "txt=b"]);
    assert_eq!(surplus.code, Some(1), "{surplus:?}");
    assert!(surplus.err.contains("did you mean `text`?"), "{surplus:?}");
}

#[test]
fn exit_codes_tell_what_became_of_it() {
    let shop = Shop::open();
    shop.user.write("print.yaml", &SHOUT.replace("agent: upper", "agent: printer"));
    let failed = shop.run(&["workflow", "run", "print.yaml", "--input", "text=x"]);
    assert_eq!((failed.code, &*failed.out), (Some(1), ""), "{failed:?}");
    assert!(failed.err.contains("the run ended failed: ") && failed.err.contains("no paper"));
    assert!(failed.err.contains("nuncio run retry "), "{failed:?}");
    let json = shop.run(&["workflow", "run", "print.yaml", "--input", "text=x", "-o", "json"]);
    assert_eq!(json.code, Some(1));
    assert!(json.out.contains(r#""state":"failed""#), "{json:?}");
    assert!(json.err.contains("NUNCIO_ERR_RUN"), "{json:?}");

    let unknown = shop.run(&["workflow", "run", "nobody"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.err.contains("nuncio workflow list"), "{unknown:?}");
    let both = shop.run(&["workflow", "run", "shout.yaml", "--version", "1"]);
    assert_eq!(both.code, Some(2), "{both:?}");

    let mut stranger = shop.user.command(&["workflow", "run", "shout.yaml"]);
    stranger.env("NUNCIO_KEY", "wrong");
    assert_eq!(came_of(stranger).code, Some(4));
    let user = at_home();
    for words in [&["workflow", "run", "shout.yaml"][..], &["run", "list"], &["run", "watch", "x"]]
    {
        let mut command = user.command(words);
        // Nobody listens at the port of TCP that discards.
        command.env("NUNCIO_URL", "http://127.0.0.1:9");
        let came = came_of(command);
        assert_eq!(came.code, Some(3), "{words:?}: {came:?}");
        assert!(words[1] == "watch" || came.err.contains("`nuncio up` in another terminal"));
    }
}

#[test]
fn a_run_is_listed_shown_and_canceled() {
    let shop = Shop::open();
    let none = shop.run(&["run", "list"]);
    assert!(none.err.contains("no runs yet"), "{none:?}");
    assert!(LONG.contains("for: 1h"));
    let run = shop.begin(&["long.yaml"]);
    shop.did(&["workflow", "run", "shout.yaml", "--input", "text=x"]);
    let listed = shop.did(&["run", "list", "--workflow", "long", "--state", "working"]);
    let [_, row] = listed.lines().collect::<Vec<_>>()[..] else { panic!("{listed}") };
    assert!(row.starts_with(&format!("{run}  long      1        working  ")), "{row}");
    assert_eq!(shop.did(&["run", "list"]).lines().count(), 3);
    let one = shop.run(&["run", "list", "--limit", "1"]);
    assert_eq!(one.out.lines().count(), 2, "{one:?}");
    assert!(one.err.contains("--limit shows them"), "{one:?}");
    assert!(shop.run(&["run", "list", "--state", "failed"]).err.contains("no run fits"));

    let canceled = shop.did(&["run", "cancel", &run]);
    assert!(field(&canceled, "Stopped").starts_with(&run), "{canceled}");
    let watched = shop.run(&["run", "watch", &run]);
    assert_eq!(watched.code, Some(1), "{watched:?}");
    assert!(watched.out.lines().last().unwrap_or_default().contains("run.canceled"), "{watched:?}");
    let shown = shop.did(&["run", "show", &run]);
    assert_eq!(field(&shown, "State"), "canceled");
    let unknown = shop.run(&["run", "show", "nothing"]);
    assert!(unknown.code == Some(1) && unknown.err.contains("there is no such run"), "{unknown:?}");
}
