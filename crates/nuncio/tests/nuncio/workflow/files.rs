//! Files: what is wrong with them, and how they are kept.

use super::{Came, SHOUT, Shop, at_home, came_of};
use crate::cli::support::User;

const BAD: &str = "\
name: bad
nodes:
  - {id: text, type: input}
  - {id: loud, type: external, config: {agent: upper, promt: '{{text}}'}}
  - {id: out, type: output, config: {prompt: '{{nobody}}'}}
edges: [{from: text, to: loud}, {from: loud, to: out}]
";

fn validate(user: &User, words: &[&str]) -> Came {
    came_of(user.command(&[&["workflow", "validate"], words].concat()))
}

#[test]
fn a_file_is_judged_without_a_hub_and_every_mistake_has_its_line() {
    let user = at_home();
    let good = validate(&user, &["shout.yaml"]);
    assert_eq!((good.code, &*good.out), (Some(0), ""), "{good:?}");
    assert!(good.err.contains("no hub answers"), "{good:?}");
    assert!(good.err.contains("1 file without errors"), "{good:?}");

    user.write("bad.yaml", BAD);
    let bad = validate(&user, &["--offline", "bad.yaml", "shout.yaml"]);
    assert_eq!(bad.code, Some(1), "{bad:?}");
    let lines: Vec<&str> = bad.out.lines().collect();
    let [member, reference] = lines[..] else { panic!("{bad:?}") };
    assert!(member.starts_with("bad.yaml:4:55: error: "), "{member}");
    assert!(member.ends_with("did you mean `prompt`? [unknown-member]"), "{member}");
    assert!(reference.starts_with("bad.yaml:5:"), "{reference}");
    assert!(reference.ends_with("[unknown-reference]"), "{reference}");
    assert_eq!(bad.err, "nuncio: 2 errors in 1 of 2 files\n");

    let json = validate(&user, &["--offline", "bad.yaml", "-o", "json"]);
    assert_eq!(json.code, Some(1));
    let report: serde_json::Value = serde_json::from_str(&json.out).expect("one document");
    let problem = &report["files"][0]["problems"][0];
    assert_eq!(report["files"][0]["file"], "bad.yaml");
    assert_eq!((&problem["line"], &problem["code"]), (&4.into(), &"unknown-member".into()));
    assert_eq!(problem["severity"], "error");
    assert!(json.err.contains("NUNCIO_ERR_WORKFLOW_INVALID"), "{json:?}");

    let missing = validate(&user, &["--offline", "none.yaml"]);
    assert_eq!(missing.code, Some(2));
    assert!(missing.err.contains("read none.yaml"), "{missing:?}");
    let nobody = validate(&user, &["shout.yaml", "--hub", "http://127.0.0.1:9"]);
    assert_eq!(nobody.code, Some(3), "a hub that was named must answer: {nobody:?}");
}

#[test]
fn files_are_judged_beside_each_other() {
    let user = at_home();
    let both = validate(&user, &["--offline", "publish.yaml", "shout.yaml"]);
    assert_eq!((both.code, &*both.out), (Some(0), ""), "{both:?}");
    let alone = validate(&user, &["--offline", "publish.yaml"]);
    assert_eq!(alone.code, Some(0), "the hub may have it: {alone:?}");
    assert!(alone.out.contains("warning: there is no workflow `shout`"), "{alone:?}");

    user.write(
        "shout.yaml",
        &SHOUT
            .replace("id: text", "id: words")
            .replace("{{text}}", "{{words}}")
            .replace("from: text", "from: words"),
    );
    let apart = validate(&user, &["--offline", "publish.yaml", "shout.yaml"]);
    assert_eq!(apart.code, Some(1), "{apart:?}");
    assert!(apart.out.contains("publish.yaml:12:"), "{apart:?}");
    assert!(apart.out.contains("the input `words` is missing"), "{apart:?}");
}

#[test]
fn a_hub_at_hand_knows_which_agents_there_are() {
    let shop = Shop::open();
    assert_eq!(validate(&shop.user, &["publish.yaml", "shout.yaml"]).code, Some(0));
    let alone = validate(&shop.user, &["publish.yaml"]);
    assert_eq!(alone.code, Some(1), "the hub does not keep it: {alone:?}");
    assert!(alone.out.contains("error: there is no workflow `shout`"), "{alone:?}");
    shop.did(&["workflow", "save", "shout.yaml"]);
    assert_eq!(validate(&shop.user, &["publish.yaml"]).code, Some(0));

    shop.user.write("typo.yaml", &SHOUT.replace("agent: upper", "agent: uper"));
    let typo = validate(&shop.user, &["typo.yaml"]);
    assert_eq!(typo.code, Some(1), "{typo:?}");
    let [line] = typo.out.lines().collect::<Vec<_>>()[..] else { panic!("{typo:?}") };
    assert!(line.starts_with("typo.yaml:12:"), "{line}");
    assert!(line.ends_with("did you mean `upper`? [unknown-agent]"), "{line}");
    assert_eq!(validate(&shop.user, &["typo.yaml", "--offline"]).code, Some(0));
}

#[test]
fn workflows_are_kept_shown_and_removed() {
    let shop = Shop::open();
    let none = shop.run(&["workflow", "list"]);
    assert!(none.err.contains("nuncio workflow save FILE"), "{none:?}");
    // What others name is saved first, whatever the order.
    let saved = shop.did(&["workflow", "save", "publish.yaml", "shout.yaml"]);
    assert_eq!(
        saved,
        "Saved: shout version 1 (shout.yaml)\nSaved: publish version 1 (publish.yaml)\n"
    );
    let again = shop.did(&["workflow", "save", "shout.yaml"]);
    assert_eq!(again, "Saved: shout version 1, as before (shout.yaml)\n");
    let loud = SHOUT.replace("{{text}}!", "{{text}}!!");
    shop.user.write("shout.yaml", &loud);
    let news = shop.did(&["workflow", "save", "shout.yaml"]);
    assert_eq!(news, "Saved: shout version 2 (shout.yaml)\n");

    let listed = shop.did(&["workflow", "list"]);
    let rows: Vec<Vec<&str>> = listed.lines().map(|row| row.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["NAME", "VERSION", "UPDATED", "INPUTS", "DESCRIPTION"]);
    assert_eq!((rows[1][0], rows[1][1]), ("publish", "1"));
    assert_eq!((rows[2][0], rows[2][1]), ("shout", "2"));
    assert!(listed.contains("text [copies]"), "{listed}");
    let shown = shop.did(&["workflow", "show", "shout"]);
    assert!(shown.starts_with("Name: shout\nVersion: 2\nDescription: Says something loudly\n"));
    assert!(shown.contains("Versions: 1, 2\n"), "{shown}");
    assert!(shown.contains("Input: text (needed): What is to be shouted?\n"), "{shown}");
    assert!(shown.contains("Node: loud (external)\n"), "{shown}");
    assert_eq!(shop.did(&["workflow", "show", "shout", "--source"]), loud);
    assert_eq!(shop.did(&["workflow", "show", "shout", "--source", "--version", "1"]), SHOUT);
    let json = shop.did(&["workflow", "show", "shout", "-o", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("what the hub says");
    assert_eq!(json["graph"]["nodes"][1]["id"], "loud");

    shop.did(&["workflow", "remove", "publish"]);
    let gone = shop.run(&["workflow", "show", "publish"]);
    assert_eq!(gone.code, Some(1));
    assert!(gone.err.contains("there is no such workflow"), "{gone:?}");
}

#[test]
fn a_title_becomes_a_name_and_another_can_be_wished_for() {
    let shop = Shop::open();
    shop.user.write("title.yaml", &SHOUT.replace("name: shout", "name: Say it LOUD"));
    let titled = shop.did(&["workflow", "save", "title.yaml"]);
    assert_eq!(titled, "Saved: say-it-loud version 1 (title.yaml)\n");
    let wished = shop.did(&["workflow", "save", "title.yaml", "--name", "loud"]);
    assert_eq!(wished, "Saved: loud version 1 (title.yaml)\n");
    let both = shop.run(&["workflow", "save", "title.yaml", "shout.yaml", "--name", "x"]);
    assert_eq!(both.code, Some(2), "{both:?}");
    let taken = shop.run(&["workflow", "save", "shout.yaml", "--name", "upper"]);
    assert_eq!(taken.code, Some(1), "an agent has the name: {taken:?}");
    shop.user.write("bad.yaml", BAD);
    let bad = shop.run(&["workflow", "save", "shout.yaml", "bad.yaml"]);
    assert_eq!(bad.code, Some(1), "{bad:?}");
    assert!(bad.err.contains("bad.yaml:4:55: error: "), "{bad:?}");
    assert!(!shop.did(&["workflow", "list"]).contains("\nshout "), "nothing was saved");
}

#[test]
fn the_examples_are_without_errors_and_warnings() {
    let shop = Shop::open();
    let words = ["workflow", "validate", "shout.yaml", "publish.yaml", "lines.yaml"];
    assert_eq!(shop.did(&words), "");
}
